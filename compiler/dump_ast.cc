// The syntax tree as text, without places.
#include <string>

#include "compiler/dump.h"

namespace rlflow {
namespace {

using namespace ast;

std::string text_of(const Expr& expr);

std::string text_of(const std::vector<Expr>& list) {
  std::string text;
  for (const Expr& expr : list) text += (text.empty() ? "" : " ") + text_of(expr);
  return text;
}

std::string text_of(const std::optional<Index>& index) {
  if (!index) return "";
  return std::string("[") + (index->is_range ? "range " : "") + text_of(index->items) + "]";
}

std::string text_of(const Call& call) {
  std::string text = "(call " + call.callee.text;
  for (const Argument& argument : call.arguments) {
    text += " " + (argument.name ? argument.name->text + "=" : "") + text_of(argument.value);
  }
  return text + ")";
}

struct ExprText {
  std::string operator()(const Number& n) const {
    std::string number = n.is_whole ? std::to_string(n.whole) : double_text(n.real);
    return number + (n.is_whole ? "" : "f") + (n.unit ? ":" + n.unit->text : "");
  }
  std::string operator()(const String& s) const { return to_text(Value(s.value)); }
  std::string operator()(const Boolean& b) const { return b.value ? "true" : "false"; }
  std::string operator()(const Reference& r) const { return r.name.text + text_of(r.index); }
  std::string operator()(const ListExpr& l) const { return "(list " + text_of(l.items) + ")"; }
  std::string operator()(const Call& c) const { return text_of(c); }
  std::string operator()(const Unary& u) const { return "(" + u.op + " " + text_of(u.operand) + ")"; }
  std::string operator()(const Binary& b) const { return "(" + b.op + " " + text_of(b.operands) + ")"; }
  std::string operator()(const RangeExpr& r) const { return "(range " + text_of(r.ends) + ")"; }
};

std::string text_of(const Expr& expr) { return std::visit(ExprText{}, expr.data); }

std::string text_of(const std::optional<ast::Settings>& settings) {
  if (!settings) return "";
  std::string text = settings->broken ? " {broken" : " {";
  for (const ast::Setting& setting : settings->list) {
    text += " " + setting.name.text + (setting.value ? "=" + text_of(*setting.value) : "");
  }
  return text + " }";
}

std::string text_of(const std::vector<Name>& names) {
  std::string text;
  for (const Name& name : names) text += " " + name.text;
  return text;
}

struct StmtText {
  std::string indent;

  std::string operator()(const NodeStmt& s) const {
    std::string text = "node";
    for (const Output& output : s.outputs) {
      text += " " + output.name.text;
      if (output.type) text += ":" + output.type->kind.text + "[" + text_of(output.type->dims) + " ]";
    }
    text += " " + text_of(s.call);
    if (s.on) text += " on " + s.on->text;
    if (s.when) text += " when " + text_of(*s.when);
    return text + text_of(s.settings);
  }
  std::string operator()(const SyncStmt& s) const {
    return "sync " + s.model.text + " " + s.replica.text + " every " + text_of(s.every) + " lag " +
           (s.lag_at_most ? "<= " : "") + text_of(s.lag) + text_of(s.settings);
  }
  std::string operator()(const EveryStmt& s) const {
    std::string text = "every " + text_of(s.every) + (s.at_start ? " start" : "");
    for (const Stmt& inner : s.body) text += "\n" + indent + "  " + std::visit(StmtText{indent + "  "}, inner.data);
    return text;
  }
  std::string operator()(const StopStmt& s) const { return "stop " + text_of(s.after); }
  std::string operator()(const BrokenStmt& s) const { return "broken" + text_of(s.defines); }
};

struct DeclText {
  std::string operator()(const ImportDecl& d) const { return "import " + to_text(Value(d.path)) + " " + d.alias.text; }
  std::string operator()(const ParamDecl& d) const {
    std::string text = "param " + d.name.text + " " + d.type.text + " " + text_of(d.value);
    if (d.domain) text += std::string(d.domain->is_range ? " range " : " set ") + text_of(d.domain->items);
    return text + " " + to_text(Value(d.doc));
  }
  std::string operator()(const GroupDecl& d) const {
    return "group " + d.name.text + " " + d.device.text + text_of(d.index) + text_of(d.settings);
  }
  std::string operator()(const ModelDecl& d) const {
    return "model " + d.name.text + " " + text_of(d.source) + (d.group ? " on " + d.group->text : "") +
           text_of(d.settings);
  }
  std::string operator()(const ReplicaDecl& d) const {
    return "replica " + d.name.text + " " + d.model.text + " on " + d.group.text + text_of(d.settings);
  }
  std::string operator()(const DataDecl& d) const {
    return "data " + d.name.text + " " + text_of(d.source) + text_of(d.settings);
  }
  std::string operator()(const RewardDecl& d) const {
    return "reward " + d.name.text + " " + text_of(d.source) + text_of(d.settings);
  }
  std::string operator()(const FlowDecl& d) const {
    std::string text = "flow " + d.name.text;
    for (const Stmt& statement : d.body) text += "\n  " + std::visit(StmtText{"  "}, statement.data);
    return text;
  }
  std::string operator()(const BrokenDecl& d) const { return "broken" + text_of(d.defines); }
};

}  // namespace

std::string dump(const ast::File& file) {
  std::string text;
  for (const Decl& declaration : file.decls) text += std::visit(DeclText{}, declaration.data) + "\n";
  return text;
}

}  // namespace rlflow
