// Words the messages about a node's arguments.
#include "compiler/argument_messages.h"

#include <algorithm>

#include "compiler/names.h"

namespace rlflow {
namespace {

SymbolKind symbol_of(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::edge: return SymbolKind::output;
    case ArgumentRole::data: return SymbolKind::data;
    case ArgumentRole::replica: return SymbolKind::replica;
    case ArgumentRole::model:
    case ArgumentRole::trainable: return SymbolKind::model;
    case ArgumentRole::reward: return SymbolKind::reward;
    case ArgumentRole::constant: return SymbolKind::param;
  }
  return SymbolKind::broken;
}

SymbolKind symbol_of(Given::What what) {
  switch (what) {
    case Given::What::edge:
    case Given::What::previous_step: return SymbolKind::output;
    case Given::What::model: return SymbolKind::model;
    case Given::What::replica: return SymbolKind::replica;
    case Given::What::data: return SymbolKind::data;
    case Given::What::reward: return SymbolKind::reward;
    case Given::What::expression: return SymbolKind::param;
    case Given::What::unknown:
    case Given::What::broken: return SymbolKind::broken;
  }
  return SymbolKind::broken;
}

bool holds(const std::vector<Kind>& kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

const char* ordinal(std::size_t position) {
  static constexpr const char* kWords[] = {"first", "second", "third", "fourth", "fifth", "sixth"};
  return position < 6 ? kWords[position] : "last";
}

// "the first input of `advantage`", "the input `old` of `update`"
std::string place_of(const ArgumentSpec& spec, const NodeSignature& signature) {
  std::size_t position = 0;
  for (const ArgumentSpec& other : signature.arguments) {
    if (&other == &spec) break;
    ++position;
  }
  std::string of = " of `" + signature.op + "`";
  if (spec.named_only) return "the input `" + spec.name + "`" + of;
  return std::string("the ") + ordinal(position) + " input" + of;
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
  SymbolKind kind = symbol_of(spec.role);
  std::vector<std::string> candidates;
  if (spec.role == ArgumentRole::edge) {
    for (const NodeOutput* output : outputs_of(spec.kinds)) candidates.push_back(output->name);
  } else {
    candidates = scope.names_of(kind);
  }
  std::string noun = spec.role == ArgumentRole::edge ? "output" : std::string(rlflow::noun_of(kind)).substr(2);
  Diagnostic& message = diagnostics.error("E0201", given.span, "there is no " + noun + " `" + name + "`");
  suggest(message, name, given.span, candidates, spec.role == ArgumentRole::edge ? "fitting outputs" : plural_of(kind));
  std::size_t dot = name.find('.');
  const Symbol* base = dot == std::string::npos ? nullptr : scope.find(name.substr(0, dot));
  if (base != nullptr && base->kind == SymbolKind::output)
    message.note("metrics of a node cannot be inputs of another");
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

void ArgumentMessages::missing_argument(const ArgumentSpec& spec, const NodeSignature& signature) const {
  bool policy = signature.effect == NodeEffect::update && holds(spec.kinds, Kind::adv);
  Span close = statement.call.close;
  std::string what = policy ? "`update` of a policy needs an advantage" : op() + " needs `" + spec.name + "`";
  Diagnostic& message = diagnostics.error(policy ? "E0310" : "E0303", close, what);
  message.label("no `" + spec.name + "` input");
  if (!spec.doc.empty() && !policy) message.note("`" + spec.name + "`: " + spec.doc);
  std::vector<const NodeOutput*> fitting = outputs_of(spec.kinds);
  if (spec.role == ArgumentRole::edge && !fitting.empty()) {
    const NodeOutput& output = *fitting.back();
    std::string text = (spec.named_only ? spec.name + "=" : "") + output.name;
    std::string line = std::to_string(sources.position(output.span.file, output.span.begin).line);
    message.help("add `" + text + "` (" + to_text(pipeline.type_of(output)) + ", made on line " + line + ")");
  } else if (spec.role == ArgumentRole::edge) {
    message.help("no node in front of it makes " + noun_of(spec.kinds.front()));
  } else {
    message.help("add `" + (spec.named_only || spec.role == ArgumentRole::constant ? spec.name + "=" : "") + "...`");
  }
  const FlowNode& node = pipeline.node(id);
  if (policy && node.model.valid()) {
    message.help("or is `" + pipeline.models[node.model.index()].name + "` a critic? then give `returns=`");
  }
}

void ArgumentMessages::wrong_role(const ArgumentSpec& spec, const Given& given) const {
  std::string is = given.what == Given::What::expression ? "a value" : rlflow::noun_of(symbol_of(given.what));
  std::string wanted = spec.role == ArgumentRole::constant ? "a whole number"
                       : spec.role == ArgumentRole::edge   ? noun_of(spec.kinds.front())
                                                           : rlflow::noun_of(symbol_of(spec.role));
  Diagnostic& message = diagnostics.error(
      "E0206", given.span, op() + " needs " + wanted + " here, but " + written(given.span) + " is " + is);
  if (const Symbol* symbol = scope.find(std::string(sources.text(given.span))))
    message.at(symbol->span, "defined here");
  if (!spec.doc.empty()) message.note("`" + spec.name + "`: " + spec.doc);
  std::vector<std::string> fitting;
  if (spec.role == ArgumentRole::edge) {
    for (const NodeOutput* output : outputs_of(spec.kinds)) fitting.push_back(output->name);
  } else if (spec.role != ArgumentRole::constant) {
    fitting = scope.names_of(symbol_of(spec.role));
  }
  if (given.what == Given::What::model && spec.role == ArgumentRole::replica) {
    std::erase_if(fitting, [&](const std::string& name) {
      const Symbol* symbol = scope.find(name);
      return pipeline.replicas[static_cast<std::size_t>(symbol->index)].model.value != given.index;
    });
  }
  if (fitting.size() == 1) {
    message.fix("did you mean `" + fitting[0] + "`?", Applicability::guess, {{given.span, fitting[0]}});
  } else if (!fitting.empty() && fitting.size() <= 8) {
    message.note("there are " + quoted_list(fitting, "and"));
  }
}

void ArgumentMessages::wrong_kind(const ArgumentSpec& spec, const Given& given, const NodeSignature& signature) const {
  const FlowNode& maker = pipeline.node(given.node);
  const NodeOutput& output = maker.outputs[static_cast<std::size_t>(given.port)];
  Diagnostic& message = diagnostics.error(
      "E0301", given.span,
      op() + " needs " + wanted_words(spec) + ", but `" + output.name + "` is " + noun_of(output.kind));
  message.label(type_words(pipeline, output)).at(maker.callee_span, "made here");
  message.note(place_of(spec, signature) + " is " + type_words(spec));
  std::vector<const NodeOutput*> fitting = outputs_of(spec.kinds);
  if (!fitting.empty()) {
    const std::string& name = fitting.back()->name;
    std::string call(sources.text(statement.call.span));
    call.replace(given.span.begin - statement.call.span.begin, given.span.end - given.span.begin, name);
    message.fix("`" + name + "` is " + noun_of(fitting.back()->kind) + " of this flow: `" + call + "`",
                fitting.size() == 1 ? Applicability::likely : Applicability::guess, {{given.span, name}});
  }
}

void ArgumentMessages::wrong_head(const ArgumentSpec& spec, const Given& given, const Model& model,
                                  const std::string& head) const {
  diagnostics
      .error("E0319", given.span,
             op() + " needs a model with `head = " + spec.heads.front() + "`, `" + model.name + "` has `" + head + "`")
      .at(model.name_span, "declared here")
      .note("`lm` gives words, `value` and `reward` give numbers");
}

void ArgumentMessages::frozen_model(const Given& given, const Model& model) const {
  const std::string& verb = statement.call.callee.text;
  Diagnostic& message =
      diagnostics.error("E0402", given.span, "cannot " + verb + " `" + model.name + "`: it is frozen");
  message.at(model.name_span, "declared without `trainable`");
  for (const FlowNode& node : pipeline.nodes) {
    if (node.op != "logprob" || !node.model.valid() || pipeline.models[node.model.index()].name != model.name) continue;
    message.note("log-probs of `" + model.name + "` feed the KL, training it would move the target");
    break;
  }
  std::vector<std::string> others;
  for (const Model& other : pipeline.models) {
    if (other.trainable) others.push_back(other.name);
  }
  if (others.size() == 1) {
    message.fix("did you mean `" + others[0] + "`?", Applicability::likely, {{given.span, others[0]}});
  } else if (!others.empty()) {
    message.help("did you mean " + quoted_list(others) + "?");
  } else {
    message.help("declare it with `trainable, optim = adamw(lr=1e-6)`");
  }
}

void ArgumentMessages::removed_input(const ArgumentSpec& spec, const Given& given) const {
  const FlowNode& maker = pipeline.node(given.node);
  diagnostics.error("E0316", given.span, op() + " needs " + written(given.span) + ", which `when` takes away")
      .at(maker.when_span, "false with these parameters")
      .note("`" + spec.name + "` of " + op() + " is required; only optional inputs may come from a node with `when`")
      .help("give this node the same `when`");
}

void ArgumentMessages::different_origin(const Given& given, DimId its, const Given& other, DimId wanted,
                                        const std::string& letter) const {
  const FlowNode& maker = pipeline.node(pipeline.dims[its.index()].maker);
  const FlowNode& wanted_maker = pipeline.node(pipeline.dims[wanted.index()].maker);
  Diagnostic& message =
      diagnostics.error("E0306", given.span,
                        written(given.span) + " belongs to `" + maker.name + "`, not to `" + wanted_maker.name + "`");
  message.label("made from `" + maker.name + "`").at(other.span, "belongs to `" + wanted_maker.name + "`");
  message.at(maker.callee_span, "makes the " + letter + " of " + written(given.span));
  message.at(wanted_maker.callee_span, "makes the " + letter + " of " + written(other.span));
  message.note("their dimensions " + letter + " have different origins, whatever their names and sizes");
  bool same_kind =
      other.what == Given::What::edge && !maker.outputs.empty() &&
      pipeline.node(other.node).outputs[static_cast<std::size_t>(other.port)].kind == maker.outputs[0].kind;
  if (same_kind) {
    std::string call(sources.text(statement.call.span));
    call.replace(other.span.begin - statement.call.span.begin, other.span.end - other.span.begin, maker.name);
    message.fix("`" + call + "`", Applicability::guess, {{other.span, maker.name}});
  }
}

}  // namespace rlflow
