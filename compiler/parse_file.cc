// The steps from a file's text to its syntax tree.
#include <algorithm>

#include "compiler/brackets.h"
#include "compiler/build_ast.h"
#include "compiler/parse.h"
#include "compiler/syntax_messages.h"
#include "compiler/syntax_tree.h"

namespace rlflow {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

// Whether the text is one that can be read at all; says why not.
bool is_program_text(FileId file, const std::string& text, Diagnostics& diagnostics) {
  Span start{file, 0, 0};
  if (text.size() > kMaxBytes) {
    diagnostics.error("E0108", start,
                      "a program has at most 1 MiB, this file has " + std::to_string(text.size()) + " bytes");
    return false;
  }
  std::size_t zero = text.find('\0');
  std::size_t invalid = first_invalid_utf8(text);
  if (zero != std::string::npos || invalid != std::string::npos) {
    auto at = static_cast<std::uint32_t>(std::min(zero, invalid));
    diagnostics.error("E0107", {file, at, at}, "this file is not UTF-8 text")
        .note("byte " + std::to_string(at) + (at == zero ? " is zero" : " is not part of a UTF-8 character"))
        .help("give the path of a .rlflow program");
    return false;
  }
  return true;
}

bool is_visible(const Lexeme& lexeme) {
  return lexeme.type != Terminal::space && lexeme.type != Terminal::comment && lexeme.type != Terminal::newline;
}

// Checks for `rlflow 1` in front; puts one in where it is missing, so that the rest can be read.
void check_header(std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  auto first = std::find_if(lexemes.begin(), lexemes.end(), is_visible);
  auto second = std::find_if(first + 1 < lexemes.end() ? first + 1 : first, lexemes.end(), is_visible);
  Span at{file, first->begin, first->end};
  if (first->type == Terminal::k_rlflow && second != lexemes.end()) {
    Span version{file, second->begin, second->end};
    if (second->type == Terminal::integer && sources.text(version) == "1") return;
    if (second->type == Terminal::integer) {
      diagnostics.error("E0105", version, "this program knows version 1 of the language only")
          .fix("write `rlflow 1`", Applicability::likely, {{version, "1"}});
      return;
    }
  }
  diagnostics.error("E0105", at, "a program begins with `rlflow 1`")
      .label("before this")
      .fix("put `rlflow 1` on the first line", Applicability::safe, {{{file, at.begin, at.begin}, "rlflow 1\n"}});
  if (first->type == Terminal::k_rlflow) {
    lexemes.insert(first + 1, {Terminal::integer, first->end, first->end});
    return;
  }
  std::uint32_t here = first->begin;
  const Lexeme header[] = {
      {Terminal::k_rlflow, here, here}, {Terminal::integer, here, here}, {Terminal::newline, here, here}};
  lexemes.insert(first, std::begin(header), std::end(header));
}

// Lexical faults are told once, at their token, and not again by the parser.
void check_tokens(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  for (const Lexeme& lexeme : lexemes) {
    if (lexeme.type != Terminal::bad_string && lexeme.type != Terminal::bad_char) continue;
    report_syntax_error({lexeme, {}, {}, Rule::file}, file, sources, diagnostics);
  }
}

// Whether the message about `error` would only repeat one that is there already.
bool is_known(const SyntaxError& error, FileId file, const SourceMap& sources, const std::vector<Span>& suspect,
              const Diagnostics& diagnostics) {
  for (const Span& span : suspect) {
    if (error.at.begin >= span.begin && error.at.begin <= span.end) return true;
  }
  std::uint32_t line = sources.position(file, error.at.begin).line;
  return std::any_of(diagnostics.list().begin(), diagnostics.list().end(), [&](const Diagnostic& d) {
    return d.primary.file == file && (d.code == "E0103" || d.code == "E0104") &&
           sources.position(file, d.primary.begin).line == line;
  });
}

TokenKind kind_of(Terminal type) {
  switch (type) {
    case Terminal::integer:
    case Terminal::real: return TokenKind::number;
    case Terminal::string: return TokenKind::string;
    case Terminal::id: return TokenKind::word;
    case Terminal::newline: return TokenKind::newline;
    case Terminal::comment: return TokenKind::comment;
    case Terminal::bad_string:
    case Terminal::bad_char: return TokenKind::bad;
    default: return type <= Terminal::k_steps ? TokenKind::word : TokenKind::symbol;
  }
}

}  // namespace

ast::File parse_file(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  ast::File failed;
  failed.id = file;
  failed.broken = true;
  const std::string& text = sources.file(file).text;
  if (!is_program_text(file, text, diagnostics)) return failed;
  std::size_t errors_before = diagnostics.list().size();
  std::vector<Lexeme> lexemes = lex(text);
  if (std::find_if(lexemes.begin(), lexemes.end(), is_visible)->type == Terminal::end) {
    diagnostics.error("E0106", {file, 0, 0}, "this program is empty")
        .help("`rlflow new grpo -o my.rlflow` writes one to begin with");
    return failed;
  }
  check_tokens(lexemes, file, sources, diagnostics);
  check_header(lexemes, file, sources, diagnostics);
  Balanced balanced = balance(lexemes, file, sources, diagnostics);
  if (balanced.too_deep) return failed;
  SyntaxTree tree = parse_lexemes(balanced.lexemes, Rule::file);
  for (const SyntaxError& error : tree.errors) {
    if (!is_known(error, file, sources, balanced.suspect, diagnostics)) {
      report_syntax_error(error, file, sources, diagnostics);
    }
  }
  ast::File result = build_file(tree.root, file, sources, diagnostics);
  result.broken = diagnostics.list().size() > errors_before;
  return result;
}

std::optional<ast::Expr> parse_value(Span span, const SourceMap& sources, Diagnostics& diagnostics) {
  std::size_t errors_before = diagnostics.list().size();
  std::vector<Lexeme> lexemes = lex(sources.text(span));
  for (Lexeme& lexeme : lexemes) {
    lexeme.begin += span.begin;
    lexeme.end += span.begin;
  }
  check_tokens(lexemes, span.file, sources, diagnostics);
  Balanced balanced = balance(lexemes, span.file, sources, diagnostics);
  if (diagnostics.list().size() > errors_before) return std::nullopt;
  SyntaxTree tree = parse_lexemes(balanced.lexemes, Rule::value);
  if (!tree.errors.empty()) {
    report_syntax_error(tree.errors.front(), span.file, sources, diagnostics);
    return std::nullopt;
  }
  return build_value(tree.root, span.file, sources, diagnostics);
}

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  if (first_invalid_utf8(text) != std::string_view::npos) return tokens;
  for (const Lexeme& lexeme : lex(text)) {
    if (lexeme.type == Terminal::space || lexeme.type == Terminal::end) continue;
    tokens.push_back({kind_of(lexeme.type), lexeme.begin, lexeme.end});
  }
  return tokens;
}

}  // namespace rlflow
