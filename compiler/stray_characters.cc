// What is said of `;`, curly quotes, `&&`, invisible spaces and letters that are not ASCII?
#include "compiler/stray_characters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "compiler/display.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

constexpr std::size_t kMostLabels = 3;

struct Known {
  std::string_view character;
  std::optional<std::string_view> instead;  // the text that is certainly meant
  std::string_view help;
};

constexpr std::string_view kQuotes = "strings stand in `\"`";
constexpr std::string_view kSpace = "put an ordinary space there";
constexpr std::string_view kInvisible = "delete it: it is there and cannot be seen";
constexpr std::string_view kSigil = "names stand alone, without a sign in front";

constexpr Known kKnown[] = {
    {"'", "\"", kQuotes},
    {"`", "\"", kQuotes},
    {"\xE2\x80\x98", "\"", kQuotes},
    {"\xE2\x80\x99", "\"", kQuotes},
    {"\xE2\x80\x9C", "\"", kQuotes},
    {"\xE2\x80\x9D", "\"", kQuotes},
    {"&", " and ", "write `and`"},
    {"|", " or ", "write `or`"},
    {"!", "not ", "write `not`"},
    {"^", {}, "there are no powers: write the number, or multiply"},
    {"$", "", kSigil},
    {"@", "", kSigil},
    {"\\", {}, "a statement goes on behind the end of its line only inside `( )` and `[ ]`"},
    {"?", {}, "a choice is made by `when`"},
    {"\r", {}, "save the file with line ends of Unix (LF) or Windows (CR LF)"},
    {"\xC2\xA0", " ", kSpace},
    {"\xE2\x80\x89", " ", kSpace},
    {"\xE2\x80\xAF", " ", kSpace},
    {"\xE3\x80\x80", " ", kSpace},
    {"\xE2\x80\x8B", "", kInvisible},
    {"\xE2\x80\x8C", "", kInvisible},
    {"\xE2\x80\x8D", "", kInvisible},
    {"\xE2\x81\xA0", "", kInvisible},
    {"\xEF\xBB\xBF", "", kInvisible},
    {"\xE2\x80\x93", "-", "write `-`"},
    {"\xE2\x80\x94", "-", "write `-`"},
    {"\xE2\x88\x92", "-", "write `-`"},
    {"\xC3\x97", "*", "write `*`"},
    {"\xE2\x80\xA6", "..", "write `..`"},
    {"\xE2\x86\x92", "->", "write `->`"},
    {"\xE2\x89\xA4", "<=", "write `<=`"},
    {"\xE2\x89\xA5", ">=", "write `>=`"},
    {"\xE2\x89\xA0", "!=", "write `!=`"},
};

const Known* find_known(std::string_view character) {
  auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const Known& known) { return known.character == character; });
  return found == std::end(kKnown) ? nullptr : found;
}

bool is_name(const Lexeme& lexeme) { return lexeme.type == Terminal::id; }

// Runs of one character: `&&` is one place. In the order of the file.
struct Stray {
  std::string character;
  std::vector<Span> places;
  bool in_name = false;  // a letter or digit of the language touches it
};

std::vector<Stray> collect(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources) {
  std::vector<Stray> list;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < lexemes.size(); ++i) {
    if (lexemes[i].type != Terminal::bad_char) continue;
    Span span{file, lexemes[i].begin, lexemes[i].end};
    std::string character(sources.text(span));
    const Known* same = find_known(character);  // both curly quotes are one mistake
    auto [at, fresh] = known.emplace(same == nullptr ? character : std::string(same->help), list.size());
    if (fresh) list.push_back({character, {}, false});
    Stray& stray = list[at->second];
    if (!stray.places.empty() && stray.places.back().end == span.begin) {
      stray.places.back().end = span.end;
    } else {
      stray.places.push_back(span);
    }
    stray.in_name = stray.in_name || (i > 0 && is_name(lexemes[i - 1])) || is_name(lexemes[i + 1]);
  }
  return list;
}

// A semicolon in front of more of its line stands for a comma.
std::vector<Edit> without_semicolons(const Stray& stray, const SourceMap& sources) {
  std::vector<Edit> edits;
  for (const Span& place : stray.places) {
    std::string_view text = sources.file(place.file).text;
    std::size_t next = text.find_first_not_of(" \t;", place.end);
    bool last = next == std::string_view::npos || text[next] == '\n' || text[next] == '\r' || text[next] == '#' ||
                text[next] == '}';
    edits.push_back({place, last ? "" : ","});
  }
  return edits;
}

void advise(const Stray& stray, const SourceMap& sources, Diagnostic& message) {
  if (stray.character == ";") {
    message.fix("a statement ends with its line, and `,` separates settings", Applicability::likely,
                without_semicolons(stray, sources));
    return;
  }
  const Known* known = find_known(stray.character);
  if (known == nullptr) {
    if (stray.in_name) message.note("names are made of the letters a to z and A to Z, digits and `_`");
    message.help("outside strings and comments a program is written in ASCII");
    return;
  }
  if (!known->instead) {
    message.help(std::string(known->help));
    return;
  }
  std::vector<Edit> edits;
  for (const Span& place : stray.places) edits.push_back({place, std::string(*known->instead)});
  message.fix(std::string(known->help), Applicability::likely, std::move(edits));
}

}  // namespace

void report_stray_characters(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources,
                             Diagnostics& diagnostics) {
  for (const Stray& stray : collect(lexemes, file, sources)) {
    Diagnostic& message = diagnostics.error(
        "E0104", stray.places[0], "a program cannot hold the character " + name_of_character(stray.character));
    for (std::size_t i = 1; i < stray.places.size() && i <= kMostLabels; ++i) message.at(stray.places[i], "and here");
    if (stray.places.size() > kMostLabels + 1)
      message.note("it stands in " + counted(static_cast<std::int64_t>(stray.places.size()), "place"));
    advise(stray, sources, message);
  }
}

}  // namespace rlflow
