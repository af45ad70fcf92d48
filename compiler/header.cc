// Does a program begin with the version of its language?
#include "compiler/header.h"

#include <algorithm>
#include <string>

#include "compiler/names.h"

namespace rlflow {
namespace {

using Place = std::vector<Lexeme>::iterator;

bool is_blank(const Lexeme& lexeme) { return lexeme.type == Terminal::space || lexeme.type == Terminal::comment; }
bool is_declaration_word(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_flow; }

void report_version(Span span, const std::string& written, Diagnostics& diagnostics) {
  bool number = written.find_first_not_of("0123456789.") == std::string::npos;
  Diagnostic& message = diagnostics.error(
      "E0105", span, number ? "this rlflow knows version 1 of the language only" : "`rlflow` needs a version");
  message.label("`" + written + "` is no version of it");
  message.fix("write `rlflow 1`", Applicability::likely, {{span, "1"}});
}

// The rest of the header's line counts as its version.
void mend_line(std::vector<Lexeme>& lexemes, Place version) {
  auto end = std::find_if(version, lexemes.end(), [](const Lexeme& l) {
    return l.type == Terminal::newline || l.type == Terminal::end || l.type == Terminal::comment;
  });
  std::uint32_t begin = version->begin;
  std::uint32_t stop = std::max(begin, (end - 1)->end);
  *version = {Terminal::integer, begin, stop};
  lexemes.erase(version + 1, end);
}

void check_version(std::vector<Lexeme>& lexemes, Place word, FileId file, const SourceMap& sources,
                   Diagnostics& diagnostics) {
  auto version = std::find_if_not(word + 1, lexemes.end(), is_blank);
  if (version->type == Terminal::newline || version->type == Terminal::end) {
    Span behind{file, word->end, word->end};
    diagnostics.error("E0105", behind, "`rlflow` needs the version of the language")
        .label("here")
        .fix("write `rlflow 1`", Applicability::safe, {{behind, " 1"}});
    lexemes.insert(word + 1, {Terminal::integer, behind.begin, behind.begin});
    return;
  }
  Span span{file, version->begin, version->end};
  if (version->type == Terminal::integer && sources.text(span) == "1") return;
  report_version(span, std::string(sources.text(span)), diagnostics);
  mend_line(lexemes, version);
}

void insert_header(std::vector<Lexeme>& lexemes, Place first) {
  std::uint32_t here = first->begin;
  const Lexeme header[] = {
      {Terminal::k_rlflow, here, here}, {Terminal::integer, here, here}, {Terminal::newline, here, here}};
  lexemes.insert(first, std::begin(header), std::end(header));
}

}  // namespace

bool check_header(std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  auto first = std::find_if(lexemes.begin(), lexemes.end(),
                            [](const Lexeme& l) { return !is_blank(l) && l.type != Terminal::newline; });
  if (first->type == Terminal::k_rlflow) {
    check_version(lexemes, first, file, sources, diagnostics);
    return true;
  }
  Span at{file, first->begin, first->end};
  const std::string word(sources.text(at));
  auto next = std::find_if_not(first + 1 < lexemes.end() ? first + 1 : first, lexemes.end(), is_blank);
  if (next != lexemes.end() && next->type == Terminal::integer && !close_names(word, {"rlflow"}).empty()) {
    diagnostics.error("E0105", at, "a program begins with `rlflow 1`")
        .fix("did you mean `rlflow`?", Applicability::likely, {{at, "rlflow"}});
    first->type = Terminal::k_rlflow;
    return true;
  }
  Diagnostic& message = diagnostics.error("E0105", at, "a program begins with `rlflow 1`").label("before this");
  bool declaration = is_declaration_word(first->type);
  if (!declaration) message.note("nothing else of this file was read: is it a program in the rlflow language?");
  message.fix("put `rlflow 1` on the first line", declaration ? Applicability::safe : Applicability::guess,
              {{{file, at.begin, at.begin}, "rlflow 1\n"}});
  if (declaration) insert_header(lexemes, first);
  return declaration;
}

}  // namespace rlflow
