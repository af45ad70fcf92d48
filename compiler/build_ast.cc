// Reads phrases into the syntax tree. Phrases inside a broken statement are never visited.
#include "compiler/build_ast.h"

#include <string>
#include <utility>

#include "compiler/literals.h"

namespace rlflow {
namespace {

using ast::Expr;
using ast::Name;

class Builder {
 public:
  Builder(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : file_(file), sources_(sources), diagnostics_(diagnostics) {}

  ast::File file(const SyntaxNode& root) {
    ast::File result;
    result.id = file_;
    for (const SyntaxNode& child : root.children) {
      if (!child.is_leaf && child.rule == Rule::decl) result.decls.push_back(declaration(child));
    }
    return result;
  }

  Expr value(const SyntaxNode& node) {
    if (node.children.size() == 1) return expression(node.children[0]);
    return {ast::RangeExpr{{expression(node.children[0]), expression(node.children[2])}}, span(node)};
  }

 private:
  Span span(const SyntaxNode& node) const { return {file_, node.begin, node.end}; }
  std::string text(const SyntaxNode& node) const { return std::string(sources_.text(span(node))); }

  // A dotted name without the white space that may stand around its dots.
  Name name(const SyntaxNode& node) const {
    Name result{{}, span(node)};
    for (char c : text(node)) {
      if (c != ' ' && c != '\t') result.text += c;
    }
    return result;
  }

  // A name that this place defines.
  Name new_name(const SyntaxNode& node) {
    Name result = name(node);
    if (is_reserved(result.text)) {
      diagnostics_.error("E0110", result.span, "`" + result.text + "` is kept for a later version of the language")
          .help("choose another name");
    }
    return result;
  }

  // ---- declarations

  ast::Decl declaration(const SyntaxNode& node) {
    ast::Decl result{ast::BrokenDecl{defined_names(node)}, span(node)};
    if (node.broken || node.children.empty()) return result;
    switch (node.children[0].terminal) {
      case Terminal::k_import: result.data = import(node); break;
      case Terminal::k_param: result.data = param(node); break;
      case Terminal::k_group: result.data = group(node); break;
      case Terminal::k_model:
        if (is_placed(node)) result.data = model(node);
        break;
      case Terminal::k_replica: result.data = replica(node); break;
      case Terminal::k_data:
        result.data = ast::DataDecl{new_name(node.children[1]), call(*node.child(Rule::call)), settings(node)};
        break;
      case Terminal::k_reward:
        result.data = ast::RewardDecl{new_name(node.children[1]), call(*node.child(Rule::call)), settings(node)};
        break;
      default: result.data = flow(node); break;
    }
    return result;
  }

  ast::ImportDecl import(const SyntaxNode& node) {
    Span path = span(node.children[1]);
    return {string_of(path, sources_, diagnostics_), path, new_name(node.children[3])};
  }

  ast::ParamDecl param(const SyntaxNode& node) {
    ast::ParamDecl result{new_name(node.children[1]), name(node.children[3]), expression(node.children[5]), {}, {}};
    if (const SyntaxNode* domain = node.child(Rule::domain)) {
      ast::Domain read{domain->token(Terminal::range) != nullptr, {}, span(*domain)};
      for (const SyntaxNode& child : domain->children) {
        if (!child.is_leaf) read.items.push_back(expression(child));
      }
      result.domain = std::move(read);
    }
    if (const SyntaxNode* doc = node.token(Terminal::string))
      result.doc = string_of(span(*doc), sources_, diagnostics_);
    return result;
  }

  ast::GroupDecl group(const SyntaxNode& node) {
    return {new_name(node.children[1]), name(node.children[3]), index(node), settings(node)};
  }

  // The base of a model stands where that one does; every other model says where it stands.
  bool is_placed(const SyntaxNode& node) {
    const SyntaxNode& source = node.children[3];
    const std::string way = text(source.children[0]);
    if (node.token(Terminal::k_on) != nullptr || way == "base_of") return true;
    diagnostics_.error("E0101", {file_, source.end, source.end}, "expected `on` and a group behind `" + way + "(...)`")
        .label("expected `on`")
        .note("a model stands on a group: `model policy = load(\"path\") on here`");
    return false;
  }

  ast::ModelDecl model(const SyntaxNode& node) {
    ast::ModelDecl result{new_name(node.children[1]), call(node.children[3]), {}, settings(node)};
    if (node.token(Terminal::k_on) != nullptr) result.group = name(node.children[5]);
    return result;
  }

  ast::ReplicaDecl replica(const SyntaxNode& node) {
    return {new_name(node.children[1]), name(node.children[3]), name(node.children[5]), settings(node)};
  }

  ast::FlowDecl flow(const SyntaxNode& node) {
    const SyntaxNode& body = *node.child(Rule::block);
    Span close{file_, body.end > body.begin ? body.end - 1 : body.end, body.end};
    return {new_name(node.children[1]), block(body), close};
  }

  // ---- statements

  std::vector<ast::Stmt> block(const SyntaxNode& node) {
    std::vector<ast::Stmt> result;
    for (const SyntaxNode& child : node.children) {
      if (!child.is_leaf) result.push_back(statement(child));
    }
    return result;
  }

  ast::Stmt statement(const SyntaxNode& node) {
    ast::Stmt result{ast::BrokenStmt{defined_names(node)}, span(node)};
    if (node.broken || node.children.empty()) return result;
    switch (node.children[0].terminal) {
      case Terminal::k_sync: result.data = sync(node); break;
      case Terminal::k_every: result.data = every(node); break;
      case Terminal::k_stop: result.data = ast::StopStmt{count(*node.child(Rule::count))}; break;
      default: result.data = node_statement(node); break;
    }
    return result;
  }

  ast::NodeStmt node_statement(const SyntaxNode& node) {
    ast::NodeStmt result;
    Terminal before = Terminal::none;
    for (const SyntaxNode& child : node.children) {
      if (child.is_leaf) {
        before = child.terminal;
      } else if (child.rule == Rule::output) {
        result.outputs.push_back(output(child));
      } else if (child.rule == Rule::call) {
        result.call = call(child);
      } else if (before == Terminal::k_on && child.rule == Rule::qname) {
        result.on = name(child);
      } else if (child.rule == Rule::expr) {
        result.when = expression(child);
      }
    }
    result.settings = settings(node);
    return result;
  }

  ast::Output output(const SyntaxNode& node) {
    ast::Output result{new_name(node.children[0]), {}};
    if (const SyntaxNode* type = node.child(Rule::type)) {
      ast::Type read{name(type->children[0]), {}, span(*type)};
      for (const SyntaxNode& child : type->children) {
        if (!child.is_leaf && child.rule == Rule::name) read.dims.push_back(name(child));
      }
      result.type = std::move(read);
    }
    return result;
  }

  ast::SyncStmt sync(const SyntaxNode& node) {
    const SyntaxNode* every = nullptr;
    const SyntaxNode* lag = nullptr;
    for (const SyntaxNode& child : node.children) {
      if (!child.is_leaf && child.rule == Rule::count) (every == nullptr ? every : lag) = &child;
    }
    Span lag_span{file_, node.token(Terminal::k_lag)->begin, lag->end};
    return {name(node.children[1]),
            name(node.children[3]),
            count(*every),
            count(*lag),
            node.token(Terminal::less_equal) != nullptr,
            lag_span,
            settings(node)};
  }

  ast::EveryStmt every(const SyntaxNode& node) {
    const SyntaxNode& body = *node.child(Rule::block);
    Span head = span(node);
    for (const SyntaxNode& child : node.children) {
      if (&child != &body) head.end = child.end;
    }
    return {count(*node.child(Rule::count)), node.token(Terminal::k_start) != nullptr, block(body), head};
  }

  // The names before the `=` of a statement, or after the keyword of a declaration.
  std::vector<Name> defined_names(const SyntaxNode& node) const {
    std::vector<Name> names;
    if (node.rule == Rule::decl) {
      if (const SyntaxNode* first = node.child(Rule::name)) names.push_back(name(*first));
    }
    for (const SyntaxNode& child : node.children) {
      if (child.is_leaf || child.rule != Rule::output || child.children.empty()) continue;
      if (child.children[0].begin < child.children[0].end) names.push_back(name(child.children[0]));
    }
    return names;
  }

  // ---- parts

  std::optional<ast::Settings> settings(const SyntaxNode& owner) {
    const SyntaxNode* node = owner.child(Rule::settings);
    if (node == nullptr) return std::nullopt;
    ast::Settings result{{}, node->broken, span(*node)};
    for (const SyntaxNode& child : node->children) {
      if (child.is_leaf) continue;
      if (child.broken || child.children.empty()) continue;
      if (child.children[0].rule == Rule::call && !child.children[0].is_leaf) {
        ast::Call given = call(child.children[0]);
        ast::Name called = given.callee;
        result.list.push_back({std::move(called), Expr{std::move(given), span(child)}, span(child), true});
        continue;
      }
      ast::Setting setting{name(child.children[0]), {}, span(child)};
      if (const SyntaxNode* given = child.child(Rule::value)) setting.value = value(*given);
      result.list.push_back(std::move(setting));
    }
    return result;
  }

  std::optional<ast::Index> index(const SyntaxNode& owner) {
    const SyntaxNode* node = owner.child(Rule::index);
    if (node == nullptr) return std::nullopt;
    ast::Index result{node->token(Terminal::range) != nullptr, {}, span(*node)};
    for (const SyntaxNode& child : node->children) {
      if (!child.is_leaf) result.items.push_back(expression(child));
    }
    return result;
  }

  ast::Call call(const SyntaxNode& node) {
    ast::Call result{name(node.children[0]), {}, span(node), {file_, node.end - 1, node.end}};
    for (const SyntaxNode& child : node.children) {
      if (child.is_leaf || child.rule != Rule::arg) continue;
      ast::Argument argument{{}, expression(child.children.back()), span(child)};
      if (child.children.size() > 1) argument.name = name(child.children[0]);
      result.arguments.push_back(std::move(argument));
    }
    return result;
  }

  Expr count(const SyntaxNode& node) {
    const SyntaxNode& first = node.children[0];
    if (!first.is_leaf) return {ast::Reference{name(first), {}}, span(first)};
    if (first.terminal == Terminal::lparen) return expression(node.children[1]);
    return {number_of(span(first), sources_, diagnostics_), span(first)};
  }

  Expr expression(const SyntaxNode& node) {
    const SyntaxNode& first = node.children[0];
    if (!first.is_leaf) {
      if (first.rule == Rule::call) return {call(first), span(node)};
      if (first.rule == Rule::qname) return {ast::Reference{name(first), index(node)}, span(node)};
      const SyntaxNode& op = node.children[1];
      return {ast::Binary{text(op), span(op), {expression(first), expression(node.children[2])}}, span(node)};
    }
    switch (first.terminal) {
      case Terminal::lparen: {
        Expr inner = expression(node.children[1]);
        inner.span = span(node);
        return inner;
      }
      case Terminal::minus:
      case Terminal::k_not: return {ast::Unary{text(first), {expression(node.children[1])}}, span(node)};
      case Terminal::string: return {ast::String{string_of(span(first), sources_, diagnostics_)}, span(node)};
      case Terminal::k_true:
      case Terminal::k_false: return {ast::Boolean{first.terminal == Terminal::k_true}, span(node)};
      case Terminal::lbracket: return {list(node), span(node)};
      default: break;
    }
    ast::Number number = number_of(span(first), sources_, diagnostics_);
    if (node.children.size() > 1) number.unit = name(node.children[1]);
    return {std::move(number), span(node)};
  }

  ast::ListExpr list(const SyntaxNode& node) {
    ast::ListExpr result;
    for (const SyntaxNode& child : node.children) {
      if (!child.is_leaf) result.items.push_back(expression(child));
    }
    return result;
  }

  FileId file_;
  const SourceMap& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace

ast::File build_file(const SyntaxNode& root, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  return Builder(file, sources, diagnostics).file(root);
}

ast::Expr build_value(const SyntaxNode& value, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  return Builder(file, sources, diagnostics).value(value);
}

}  // namespace rlflow
