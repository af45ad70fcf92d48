// The three steps of the formatter: what each token is, which lines there are, which columns line up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/syntax_tree.h"

namespace rlflow {

// What a token is for, where its spelling does not say it. By the token's first byte.
enum class TokenRole {
  plain,
  tight_open,      // ( of a call, [ of an index or a type: no space in front
  argument_sign,   // = of a named argument: no spaces around
  unary,           // - in front of a value: no space behind
  unit,            // behind a number
  block_brace,     // { } of statements
  settings_brace,  // { } of settings
  set_brace,       // { } of a domain: no spaces inside
  item_colon,      // the : that lines up
  item_sign,       // the = that lines up
};
struct TokenRoles {
  std::unordered_map<std::uint32_t, TokenRole> roles;
  std::unordered_map<std::uint32_t, std::string> items;  // first byte of a line's item -> what lines up with it
  std::unordered_map<std::uint32_t, bool> settings;      // first bytes of settings

  TokenRole of(const Lexeme& lexeme) const {
    auto found = roles.find(lexeme.begin);
    return found == roles.end() ? TokenRole::plain : found->second;
  }
};
TokenRoles find_roles(const SyntaxNode& root, std::string_view text);

struct FormattedLine {
  int depth = 0;  // two spaces each
  std::string text;
  bool blank_before = false;
  bool continues = false;                 // the rest of a statement that began on an earlier line
  std::string item;                       // "node", "param", "setting": lines of one kind line up; empty: none
  std::size_t colon = std::string::npos;  // columns in `text`
  std::size_t sign = std::string::npos;
};
std::vector<FormattedLine> break_lines(const std::vector<Lexeme>& lexemes, const TokenRoles& roles,
                                       std::string_view text);

// Pads `:` and `=` inside runs of consecutive items of one kind.
void align(std::vector<FormattedLine>& lines);

}  // namespace rlflow
