// What is told about arguments that are unknown, too many or missing?
#include "compiler/argument_messages.h"

#include <algorithm>

#include "compiler/names.h"
#include "compiler/resolve_parts.h"

namespace rlflow {
namespace {

bool holds(const std::vector<Kind>& kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

std::vector<const NodeOutput*> ArgumentMessages::outputs_of(const std::vector<Kind>& kinds) const {
  std::vector<const NodeOutput*> list;
  for (std::size_t n = 0; n < id.index(); ++n) {
    if (pipeline.nodes[n].removed) continue;
    for (const NodeOutput& output : pipeline.nodes[n].outputs) {
      if (output.known && !output.name.empty() && holds(kinds, output.kind)) list.push_back(&output);
    }
  }
  return list;
}

void ArgumentMessages::unknown_op(const Catalog& catalog) const {
  std::vector<std::string> ops;
  for (const NodeSignature& signature : catalog.nodes) {
    if (std::find(ops.begin(), ops.end(), signature.op) == ops.end()) ops.push_back(signature.op);
  }
  const ast::Name& name = statement.call.callee;
  Diagnostic& message = diagnostics.error("E0204", name.span, "there is no node `" + name.text + "`");
  suggest(message, name.text, name.span, ops, "nodes");
  if (message.fixes.empty()) message.note("the nodes are " + quoted_list(ops, "and"));
}

void ArgumentMessages::unknown_name(const ArgumentSpec& spec, const Given& given) const {
  const std::string name(sources.text(given.span));
  if (report_unreachable(scope, name, given.span, diagnostics) != nullptr) return;
  SymbolKind kind = symbol_of(spec.role);
  std::vector<std::string> candidates;
  if (spec.role == ArgumentRole::edge) {
    for (const NodeOutput* output : outputs_of(spec.kinds)) candidates.push_back(output->name);
  } else {
    candidates = scope.names_of(kind);
  }
  const bool cut_off =
      sources.file(given.span.file).text.find_first_not_of(" \t\r\n", given.span.end) == std::string::npos;
  if (cut_off || scope.is_told_elsewhere(kind, name, candidates)) return;
  std::string noun = spec.role == ArgumentRole::edge ? "output" : std::string(rlflow::noun_of(kind)).substr(2);
  Diagnostic& message = diagnostics.error("E0201", given.span, "there is no " + noun + " `" + name + "`");
  suggest(message, name, given.span, candidates, spec.role == ArgumentRole::edge ? "fitting outputs" : plural_of(kind));
  if (spec.role == ArgumentRole::edge) offer_unnamed(spec, name, message);
}

// A node of an earlier line that makes what is looked for, and gives it no name.
void ArgumentMessages::offer_unnamed(const ArgumentSpec& spec, const std::string& name, Diagnostic& message) const {
  for (std::size_t n = 0; n < id.index(); ++n) {
    const FlowNode& node = pipeline.nodes[n];
    if (node.outputs.empty() || !node.outputs[0].name.empty() || !holds(spec.kinds, node.outputs[0].kind)) continue;
    Span front{node.span.file, node.span.begin, node.span.begin};
    message.at(node.callee_span, "makes " + noun_of(node.outputs[0].kind) + ", which has no name");
    message.fix("name it: `" + name + " = " + node.op + "(...)`", Applicability::likely, {{front, name + " = "}});
    return;
  }
}

void ArgumentMessages::extra_argument(const Given& given, const NodeSignature& signature,
                                      const Catalog& catalog) const {
  const ast::Argument& argument = *given.source;
  if (!argument.name) {
    std::size_t most = 0;
    for (const ArgumentSpec& spec : signature.arguments) most += spec.named_only ? 0 : 1;
    diagnostics
        .error("E0304", argument.span,
               op() + " takes at most " + counted(static_cast<std::int64_t>(most), "unnamed input"))
        .label("one too many");
    return;
  }
  const std::string& name = argument.name->text;
  bool is_setting = false;
  for (const SettingSpec& spec : signature.settings) is_setting = is_setting || spec.name == name;
  for (const SettingSpec& spec : catalog.common) is_setting = is_setting || spec.name == name;
  if (!is_setting) {
    std::vector<std::string> names;
    for (const ArgumentSpec& spec : signature.arguments) names.push_back(spec.name);
    Diagnostic& message = diagnostics.error("E0304", argument.name->span, op() + " has no input `" + name + "`");
    suggest(message, name, argument.name->span, names, "inputs");
    return;
  }
  Diagnostic& message =
      diagnostics.error("E0311", argument.name->span, "`" + name + "` of " + op() + " stands in { }, not in ( )");
  message.label("a setting").note("inputs and what fixes a shape stand in ( ), all else in { }");
  std::string moved = name + " = " + std::string(sources.text(argument.value.span));
  Span removed = argument.span;
  const std::string& text = sources.file(removed.file).text;
  while (removed.begin > statement.call.span.begin &&
         (text[removed.begin - 1] == ' ' || text[removed.begin - 1] == ','))
    --removed.begin;
  if (statement.settings) {
    Span open{removed.file, statement.settings->span.begin + 1, statement.settings->span.begin + 1};
    std::string more = statement.settings->list.empty() ? " " : ",";
    message.fix("move it: `" + moved + "`", Applicability::safe, {{removed, ""}, {open, " " + moved + more}});
  } else if (!statement.on && !statement.when) {
    Span after{removed.file, statement.call.span.end, statement.call.span.end};
    message.fix("move it: `" + moved + "`", Applicability::safe, {{removed, ""}, {after, " { " + moved + " }"}});
  }
}

void ArgumentMessages::missing_arguments(const std::vector<const ArgumentSpec*>& missing,
                                         const NodeSignature& signature) const {
  const ArgumentSpec& first = *missing.front();
  bool policy = signature.effect == NodeEffect::update && holds(first.kinds, Kind::adv);
  std::vector<std::string> names;
  for (const ArgumentSpec* spec : missing) names.push_back(spec->name);
  std::string what = policy ? "`update` of a policy needs an advantage" : op() + " needs " + quoted_list(names, "and");
  Diagnostic& message = diagnostics.error(policy ? "E0310" : "E0303", statement.call.close, what);
  message.label("no " + quoted_list(names, "and") + " input");
  for (const ArgumentSpec* spec : missing) {
    if (!spec->doc.empty() && !policy) message.note("`" + spec->name + "`: " + spec->doc);
    offer_argument(*spec, message);
  }
  const FlowNode& node = pipeline.node(id);
  if (policy && node.model.valid()) {
    message.help("or is `" + pipeline.models[node.model.index()].name + "` a critic? then give `returns=`");
  }
}

void ArgumentMessages::offer_argument(const ArgumentSpec& spec, Diagnostic& message) const {
  std::string prefix = spec.named_only ? spec.name + "=" : "";
  if (spec.role == ArgumentRole::constant) {
    message.help("add `" + spec.name + "=...`, a whole number");
    return;
  }
  if (spec.role == ArgumentRole::edge) {
    std::vector<const NodeOutput*> fitting = outputs_of(spec.kinds);
    if (fitting.empty()) {
      message.help("no node in front of it makes " + noun_of(spec.kinds.front()));
      return;
    }
    const NodeOutput& output = *fitting.back();
    std::string line = std::to_string(sources.position(output.span.file, output.span.begin).line);
    message.help("add `" + prefix + output.name + "` (" + to_text(pipeline.type_of(output)) + ", made on line " + line +
                 ")");
    return;
  }
  std::vector<std::string> declared = scope.names_of(symbol_of(spec.role));
  std::string noun = rlflow::noun_of(symbol_of(spec.role));
  if (declared.empty()) {
    message.help("declare " + noun + " first, and add it");
  } else {
    for (std::string& name : declared) name.insert(0, prefix);
    message.help("add " + noun + ": " + quoted_list(declared));
  }
}

}  // namespace rlflow
