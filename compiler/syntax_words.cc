// What are tokens called in messages, and which words are reserved?
#include <algorithm>
#include <string_view>

#include "compiler/syntax_tree.h"

namespace rlflow {
namespace {

constexpr std::string_view kReserved[] = {"import", "param", "group", "model", "replica", "data",   "reward", "flow",
                                          "sync",   "every", "stop",  "on",    "when",    "in",     "as",     "and",
                                          "or",     "not",   "true",  "false", "use",     "buffer", "env",    "def"};

}  // namespace

std::string_view describe(Terminal terminal) {
  static constexpr std::string_view kTexts[] = {"nothing",
                                                "`import`",
                                                "`param`",
                                                "`group`",
                                                "`model`",
                                                "`replica`",
                                                "`data`",
                                                "`reward`",
                                                "`flow`",
                                                "`sync`",
                                                "`every`",
                                                "`stop`",
                                                "`on`",
                                                "`when`",
                                                "`in`",
                                                "`as`",
                                                "`and`",
                                                "`or`",
                                                "`not`",
                                                "`true`",
                                                "`false`",
                                                "`rlflow`",
                                                "`at`",
                                                "`start`",
                                                "`after`",
                                                "`lag`",
                                                "`step`",
                                                "`steps`",
                                                "`(`",
                                                "`)`",
                                                "`[`",
                                                "`]`",
                                                "`{`",
                                                "`}`",
                                                "`,`",
                                                "`:`",
                                                "`=`",
                                                "`->`",
                                                "`..`",
                                                "`.`",
                                                "`+`",
                                                "`-`",
                                                "`*`",
                                                "`/`",
                                                "`%`",
                                                "`<`",
                                                "`>`",
                                                "`<=`",
                                                "`>=`",
                                                "`==`",
                                                "`!=`",
                                                "a whole number",
                                                "a number",
                                                "a string",
                                                "a string",
                                                "a name",
                                                "the end of the line",
                                                "a comment",
                                                "a space",
                                                "a character",
                                                "the end of the file"};
  return kTexts[static_cast<std::size_t>(terminal)];
}

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

}  // namespace rlflow
