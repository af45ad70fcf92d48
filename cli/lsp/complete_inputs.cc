// What may stand between the parentheses of a node or of a source?
#include <algorithm>

#include "cli/lsp/call_place.h"
#include "cli/lsp/completer.h"
#include "cli/lsp/described.h"
#include "compiler/metric_inputs.h"

namespace rlflow::lsp {
namespace {

bool takes(const ArgumentSpec& spec, Kind kind) {
  return std::find(spec.kinds.begin(), spec.kinds.end(), kind) != spec.kinds.end();
}

}  // namespace

void Completer::in_call(const Frame& frame) {
  WrittenCall call = cursor_.call_at(frame.open);
  if (const Frame* settings = settings_around(cursor_, frame)) return in_call_value(*settings, frame, call.callee);
  if (!cursor_.in_flow()) return in_source(frame, call);
  if (call.callee == "prev") return previous(frame);
  std::string named = cursor_.item_name(frame);
  for (const NodeSignature* signature : fitting_signatures(without_current(call, frame), analysis_, names_, catalog_)) {
    if (const ArgumentSpec* spec = argument_at(*signature, call, frame, named)) names_for(*spec);
    if (cursor_.starts_item()) missing_names(*signature, call);
  }
}

void Completer::names_for(const ArgumentSpec& spec) {
  switch (spec.role) {
    case ArgumentRole::edge: return outputs_for(spec);
    case ArgumentRole::data: return names_of(SymbolKind::data);
    case ArgumentRole::replica: return names_of(SymbolKind::replica);
    case ArgumentRole::reward: return names_of(SymbolKind::reward);
    case ArgumentRole::constant: return params({ParamType::integer});
    case ArgumentRole::model:
    case ArgumentRole::trainable: return models_for(spec);
  }
}

void Completer::models_for(const ArgumentSpec& spec) {
  for (const auto& [name, definition] : visible_) {
    if (definition->kind != SymbolKind::model) continue;
    bool frozen = std::any_of(analysis_.pipeline.models.begin(), analysis_.pipeline.models.end(), [&](const Model& m) {
      return m.name_span == definition->span && m.known && !m.trainable;
    });
    if (spec.role == ArgumentRole::model || !frozen) add_name(name, *definition);
  }
}

// `step.loss`, `step.entropy`, …: those that the node reports.
void Completer::metrics_of(const std::string& name, const OutputPlace& place) {
  for (const MetricSpec* metric : reported_metrics(*place.node, *place.output))
    add(name + "." + metric->name, CompletionKind::name, "a number of `" + place.node->op + "`");
}

// Outputs of this kind that are made before this statement.
void Completer::outputs_for(const ArgumentSpec& spec) {
  for (const auto& [name, definition] : visible_) {
    if (definition->kind != SymbolKind::output || definition->span.begin >= cursor_.statement_begin()) continue;
    OutputPlace place = output_at(analysis_.pipeline, definition->span);
    if (place.output == nullptr || !place.output->known) continue;
    if (takes(spec, place.output->kind)) add_name(name, *definition);
    if (takes(spec, Kind::scalar)) metrics_of(name, place);
  }
  if (takes(spec, Kind::scalar)) add("prev", CompletionKind::function, "prev(x, init=v): the value of the last step");
}

void Completer::missing_names(const NodeSignature& signature, const WrittenCall& call) {
  for (const ArgumentSpec& spec : signature.arguments) {
    bool given = std::any_of(call.arguments.begin(), call.arguments.end(),
                             [&](const GivenArgument& argument) { return argument.name == spec.name; });
    if (spec.named_only && !given) add(spec.name + "=", CompletionKind::setting, spec.doc);
  }
}

void Completer::previous(const Frame& frame) {
  if (frame.commas > 0) {
    if (cursor_.starts_item()) return add("init=", CompletionKind::setting, "the value in the first step");
    return params({ParamType::integer, ParamType::real});
  }
  for (const auto& [name, definition] : visible_) {
    OutputPlace place = output_at(analysis_.pipeline, definition->span);
    if (place.output == nullptr) continue;
    if (!place.output->known || place.output->kind == Kind::scalar) add_name(name, *definition);
    metrics_of(name, place);
  }
}

// `load(|)`, `init("…", |)`, `jsonl(|)`: a path or a text; `base_of(|)`: a model.
void Completer::in_source(const Frame& frame, const WrittenCall& call) {
  if (call.callee == "base_of") return frame.commas == 0 ? names_of(SymbolKind::model) : void();
  if (frame.commas == 0 && cursor_.item_name(frame).empty()) return params({ParamType::path, ParamType::string});
  if (call.callee != "init") return;
  if (cursor_.item_name(frame) == "seed") return params({ParamType::integer});
  add("seed=", CompletionKind::setting, "seed of the random weights");
}

}  // namespace rlflow::lsp
