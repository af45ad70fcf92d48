// What is told about arguments that are of another kind than the node takes?
#include <algorithm>

#include "compiler/argument_messages.h"
#include "compiler/metric_inputs.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

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

void ArgumentMessages::swapped(const Given& first, const Given& second) const {
  const std::string one(sources.text(first.span));
  const std::string other(sources.text(second.span));
  std::string call(sources.text(statement.call.span));
  call.replace(second.span.begin - statement.call.span.begin, other.size(), one);
  call.replace(first.span.begin - statement.call.span.begin, one.size(), other);
  diagnostics.error("E0206", first.span, op() + " takes `" + other + "` in front of `" + one + "`")
      .label("these two are swapped")
      .at(second.span, "this one comes first")
      .fix("write `" + call + "`", Applicability::likely, {{first.span, other}, {second.span, one}});
}

void ArgumentMessages::behind_named(const Given& given, const Given& named, const ArgumentSpec& spec) const {
  const std::string text(sources.text(given.span));
  diagnostics.error("E0304", given.span, "an unnamed input cannot stand behind a named one")
      .label("unnamed")
      .at(named.source->span, "named")
      .fix("name it: `" + spec.name + "=" + text + "`", spec.variadic ? Applicability::guess : Applicability::safe,
           {{{given.span.file, given.span.begin, given.span.begin}, spec.name + "="}});
}

void ArgumentMessages::wrong_role(const ArgumentSpec& spec, const Given& given) const {
  bool call = std::holds_alternative<ast::Call>(given.source->value.data);
  std::string is = call                                    ? "a call"
                   : given.what == Given::What::expression ? "a value"
                                                           : rlflow::noun_of(symbol_of(given.what));
  std::string wanted = spec.role == ArgumentRole::constant ? "a whole number"
                       : spec.role == ArgumentRole::edge   ? noun_of(spec.kinds.front())
                                                           : rlflow::noun_of(symbol_of(spec.role));
  Diagnostic& message = diagnostics.error(
      "E0206", given.span, op() + " needs " + wanted + " here, but " + written(given.span) + " is " + is);
  if (const Symbol* symbol = scope.find(std::string(sources.text(given.span))))
    message.at(symbol->span, "defined here");
  if (!spec.doc.empty()) message.note("`" + spec.name + "`: " + spec.doc);
  if (call) {
    message.note("only `prev` may stand inside the inputs of a node");
    message.help("give it a line of its own, `x = " + std::string(sources.text(given.span)) + "`, and pass `x`");
    return;
  }
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
    message.note("here may stand " + quoted_list(fitting));
  }
}

// Whether an input by position would fit the next place, which is empty: the one in front of it was left out.
bool ArgumentMessages::is_one_too_early(const ArgumentSpec& spec, const Given& given,
                                        const NodeSignature& signature) const {
  const ArgumentSpec* next = &spec + 1;
  if (given.source->name || next == signature.arguments.data() + signature.arguments.size()) return false;
  const ast::Argument* following = given.source + 1;
  const std::vector<ast::Argument>& all = statement.call.arguments;
  bool last = following == all.data() + all.size() || following->name;
  return last && !next->optional && !next->named_only && role_takes(*next, given, pipeline);
}

void ArgumentMessages::wrong_kind(const ArgumentSpec& spec, const Given& given, const NodeSignature& signature) const {
  const FlowNode& maker = pipeline.node(given.node);
  const NodeOutput& output = maker.outputs[static_cast<std::size_t>(given.port)];
  const Kind kind = kind_of(output, given.metric);
  Diagnostic& message = diagnostics.error(
      "E0301", given.span,
      op() + " needs " + wanted_words(spec) + ", but " + written(given.span) + " is " + noun_of(kind));
  message.label(given.metric.empty() ? type_words(pipeline, output) : noun_of(kind));
  message.at(maker.callee_span, "made here");
  message.note(place_of(spec, signature) + " is " + type_words(spec));
  std::vector<const NodeOutput*> fitting = outputs_of(spec.kinds);
  if (!fitting.empty()) {
    const std::string& name = fitting.back()->name;
    std::string call(sources.text(statement.call.span));
    if (is_one_too_early(spec, given, signature)) {
      call.insert(given.span.begin - statement.call.span.begin, name + ", ");
      message.fix("put `" + name + "` in front of it: `" + call + "`", Applicability::likely,
                  {{{given.span.file, given.span.begin, given.span.begin}, name + ", "}});
      return;
    }
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
