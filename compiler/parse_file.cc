// The steps from a file's text to its syntax tree.
#include <algorithm>
#include <set>

#include "compiler/brackets.h"
#include "compiler/build_ast.h"
#include "compiler/header.h"
#include "compiler/names.h"
#include "compiler/parse.h"
#include "compiler/stray_characters.h"
#include "compiler/syntax_messages.h"
#include "compiler/syntax_tree.h"

namespace rlflow {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

// Whether the text is one that can be read at all; says why not.
bool is_program_text(FileId file, const std::string& text, Diagnostics& diagnostics) {
  Span start{file, 0, 0};
  if (text.size() > kMaxBytes) {
    diagnostics.error("E0108", start, "a program has at most 1 MiB, and this file is larger")
        .help("put data into files of its own, which the program names");
    return false;
  }
  std::size_t zero = text.find('\0');
  std::size_t invalid = first_invalid_utf8(text);
  if (zero != std::string::npos || invalid != std::string::npos) {
    auto at = static_cast<std::uint32_t>(std::min(zero, invalid));
    bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    diagnostics.error("E0107", {file, at, at}, "this file is not UTF-8 text")
        .note(utf16 ? "it begins like UTF-16"
                    : "byte " + with_commas(at) + (at == zero ? " is zero" : " is not part of a UTF-8 character"))
        .help("save the program as UTF-8; is it a program, and no binary file?");
    return false;
  }
  return true;
}

bool is_visible(const Lexeme& lexeme) {
  return lexeme.type != Terminal::space && lexeme.type != Terminal::comment && lexeme.type != Terminal::newline;
}

// Lexical faults are told once, at their token, and not again by the parser.
void check_tokens(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  for (const Lexeme& lexeme : lexemes) {
    if (lexeme.type != Terminal::bad_string) continue;
    diagnostics.error("E0103", {file, lexeme.begin, lexeme.end}, "this string is never closed")
        .help("close it with `\"` on the same line");
  }
  report_stray_characters(lexemes, file, sources, diagnostics);
}

// Lines in which a character or a string was at fault: what else does not fit there follows from it.
std::set<std::uint32_t> lines_at_fault(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources) {
  std::set<std::uint32_t> lines;
  for (const Lexeme& lexeme : lexemes) {
    if (lexeme.type != Terminal::bad_string && lexeme.type != Terminal::bad_char) continue;
    lines.insert(sources.position(file, lexeme.begin).line);
  }
  return lines;
}

bool is_inside(std::uint32_t byte, const std::vector<Span>& spans) {
  return std::any_of(spans.begin(), spans.end(),
                     [byte](const Span& span) { return byte >= span.begin && byte <= span.end; });
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
        .help("begin with `rlflow 1`; pipelines/tiny_grpo.rlflow is a program to learn from");
    return failed;
  }
  if (!check_header(lexemes, file, sources, diagnostics)) return failed;
  check_tokens(lexemes, file, sources, diagnostics);
  Balanced balanced = balance(lexemes, file, sources, diagnostics);
  if (balanced.too_deep) return failed;
  SyntaxTree tree = parse_lexemes(balanced.lexemes, Rule::file);
  const std::set<std::uint32_t> faulty = lines_at_fault(lexemes, file, sources);
  for (const SyntaxError& error : tree.errors) {
    if (faulty.count(sources.position(file, error.at.begin).line) > 0) continue;
    if (!is_inside(error.at.begin, balanced.suspect)) report_syntax_error(error, file, sources, diagnostics);
  }
  ast::File result = build_file(tree.root, file, sources, diagnostics);
  for (const Lexeme& word : tree.unread) {
    Span span{file, word.begin, word.end};
    result.unread.push_back({std::string(sources.text(span)), span});
  }
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
