// Reads off the phrases what each token is for.
#include "compiler/format_parts.h"

namespace rlflow {
namespace {

class RoleFinder {
 public:
  explicit RoleFinder(std::string_view text) : text_(text) {}

  TokenRoles result;

  void visit(const SyntaxNode& node) {
    switch (node.rule) {
      case Rule::decl: declaration(node); break;
      case Rule::stmt: statement(node); break;
      case Rule::setting:
        result.settings[node.begin] = true;
        item(node, "setting");
        mark(node, Terminal::assign, TokenRole::item_sign);
        break;
      case Rule::block: braces(node, TokenRole::block_brace); break;
      case Rule::settings: braces(node, TokenRole::settings_brace); break;
      case Rule::domain: braces(node, TokenRole::set_brace); break;
      case Rule::call: mark(node, Terminal::lparen, TokenRole::tight_open); break;
      case Rule::index:
      case Rule::type: mark(node, Terminal::lbracket, TokenRole::tight_open); break;
      case Rule::arg: mark(node, Terminal::assign, TokenRole::argument_sign); break;
      case Rule::expr: expression(node); break;
      default: break;
    }
    for (const SyntaxNode& child : node.children) {
      if (!child.is_leaf) visit(child);
    }
  }

 private:
  void mark(const SyntaxNode& node, Terminal terminal, TokenRole role) {
    for (const SyntaxNode& child : node.children) {
      if (child.is_leaf && child.terminal == terminal) result.roles[child.begin] = role;
    }
  }
  void item(const SyntaxNode& node, std::string kind) { result.items[node.begin] = std::move(kind); }

  void braces(const SyntaxNode& node, TokenRole role) {
    mark(node, Terminal::lbrace, role);
    mark(node, Terminal::rbrace, role);
  }

  void declaration(const SyntaxNode& node) {
    const SyntaxNode& keyword = node.children[0];
    if (node.token(Terminal::assign) == nullptr) return;
    item(node, std::string(text_.substr(keyword.begin, keyword.end - keyword.begin)));
    mark(node, Terminal::colon, TokenRole::item_colon);
    mark(node, Terminal::assign, TokenRole::item_sign);
  }

  void statement(const SyntaxNode& node) {
    int outputs = 0;
    for (const SyntaxNode& child : node.children) outputs += !child.is_leaf && child.rule == Rule::output ? 1 : 0;
    if (outputs == 0) return;
    item(node, "node");
    mark(node, Terminal::assign, TokenRole::item_sign);
    if (outputs == 1) mark(node.children[0], Terminal::colon, TokenRole::item_colon);
  }

  void expression(const SyntaxNode& node) {
    const SyntaxNode& first = node.children[0];
    if (first.is_leaf && first.terminal == Terminal::minus) result.roles[first.begin] = TokenRole::unary;
    bool number = first.is_leaf && (first.terminal == Terminal::integer || first.terminal == Terminal::real);
    if (number && node.children.size() > 1) result.roles[node.children[1].begin] = TokenRole::unit;
  }

  std::string_view text_;
};

}  // namespace

TokenRoles find_roles(const SyntaxNode& root, std::string_view text) {
  RoleFinder finder(text);
  finder.visit(root);
  return std::move(finder.result);
}

}  // namespace rlflow
