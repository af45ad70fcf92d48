// Text -> syntax tree. parse.cc is the only file of the project that includes ANTLR.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/source.h"

namespace rlflow {

// Never fails: what cannot be read becomes a broken declaration or statement and a message.
ast::File parse_file(FileId file, const SourceMap& sources, Diagnostics& diagnostics);

// The value of one override, a part of the command line's text: an expression, `gpu[0..4]`, `64 seqs`.
std::optional<ast::Expr> parse_value(Span span, const SourceMap& sources, Diagnostics& diagnostics);

// The text cut into tokens: comments and newlines are there, white space is not. None where it is not UTF-8.
enum class TokenKind { word, number, string, symbol, newline, comment, bad };
struct Token {
  TokenKind kind = TokenKind::bad;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
std::vector<Token> tokenize(std::string_view text);

}  // namespace rlflow
