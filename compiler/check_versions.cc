// Weights and their versions: one writer a model, replicas that learn, samples that are not too old, `from`.
#include <map>
#include <string>

#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

void check_writers(const CheckInput& input, Diagnostics& diagnostics) {
  std::map<ModelId, const FlowNode*> writers;
  for (const FlowNode& node : input.pipeline.nodes) {
    if (!is_live(node) || node.signature->effect != NodeEffect::update || !node.model.valid()) continue;
    auto [first, fresh] = writers.emplace(node.model, &node);
    if (fresh) continue;
    const std::string& model = input.pipeline.models[node.model.index()].name;
    diagnostics.error("E0403", node.callee_span, "`" + model + "` is updated twice in one step")
        .label("a second update")
        .at(first->second->callee_span, "the first")
        .note("a step makes one version of each model")
        .help("use `epochs` or `minibatch` of one update for more optimizer steps");
  }
}

bool is_updated(const Pipeline& pipeline, ModelId model) {
  for (const FlowNode& node : pipeline.nodes) {
    bool update = node.signature != nullptr && node.signature->effect == NodeEffect::update;
    if (update && node.model == model && !node.removed) return true;
  }
  return false;
}

void check_synced(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (ReplicaId id : usage_of(pipeline).replicas) {
    const Replica& replica = pipeline.replicas[id.index()];
    if (!replica.model.valid() || pipeline.sync_of(id) != nullptr || !is_updated(pipeline, replica.model)) continue;
    std::string line = "sync " + pipeline.models[replica.model.index()].name + " -> " + replica.name;
    Diagnostic& message =
        diagnostics.error("E0411", replica.name_span, "`" + replica.name + "` never learns: no `" + line + "`");
    message.note("every rollout would use v0");
    std::string help = "add `" + line + " every 1 step lag 0`";
    if (pipeline.stop_span.valid()) {
      Span before{pipeline.stop_span.file, pipeline.stop_span.begin, pipeline.stop_span.begin};
      message.fix(help, Applicability::likely, {{before, line + " every 1 step lag 0\n  "}});
    } else {
      message.help(help);
    }
  }
}

// An update that can weigh old samples has the setting `off_policy`.
bool takes_off_policy(const FlowNode& node) {
  for (const SettingSpec& spec : node.signature->settings) {
    if (spec.name == "off_policy") return true;
  }
  return false;
}

void check_staleness(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    const FlowNode& update = pipeline.nodes[n];
    if (!is_live(update) || !takes_off_policy(update) || setting(update.settings, "off_policy") != nullptr) continue;
    for (NodeId id : ancestors(pipeline, NodeId(n))) {
      const FlowNode& rollout = pipeline.node(id);
      const Sync* sync = rollout.replica.valid() ? pipeline.sync_of(rollout.replica) : nullptr;
      if (sync == nullptr || rollout.model != update.model || staleness(*sync) == 0) continue;
      std::string age = std::to_string(staleness(*sync));
      Diagnostic& message = diagnostics.error("E0413", sync->lag > 0 ? sync->lag_span : sync->span,
                                              "`update` treats " + age + "-step-old samples as its own");
      message.label("samples are up to " + age + (age == "1" ? " step old" : " steps old"));
      message.at(update.callee_span, "no `off_policy`");
      message.note("staleness = every - 1 + lag = " + std::to_string(sync->every) + " - 1 + " +
                   std::to_string(sync->lag) + " = " + age);
      message.fix("add `off_policy = truncate(2.0)`", Applicability::guess,
                  {add_setting(update, "off_policy = truncate(2.0)", input.sources)});
      if (sync->every == 1)
        message.fix("or write `lag 0`", Applicability::guess, {{sync->lag_span, "lag 0"}});
      else
        message.help("or write `every 1 step lag 0`");
      break;
    }
  }
}

std::int64_t from_of(const FlowNode& node) {
  const Value* value = setting(node.settings, "from");
  return value && value->get<std::int64_t>() ? *value->get<std::int64_t>() : 1;
}

void check_from(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (const FlowNode& node : pipeline.nodes) {
    if (!is_live(node)) continue;
    for (const NodeInput& edge : node.inputs) {
      if (edge.from != NodeInput::From::edge) continue;
      const FlowNode& maker = pipeline.node(edge.node);
      bool required = !node.signature->arguments[static_cast<std::size_t>(edge.argument)].optional;
      if (!required || from_of(maker) <= from_of(node)) continue;
      std::string from = "from = " + std::to_string(from_of(maker));
      diagnostics.error("E0317", edge.span, "`" + node.name + "` runs before `" + maker.name + "` does")
          .at(maker.settings.at("from").span, "skipped before step " + std::to_string(from_of(maker)))
          .fix("give `" + node.name + "` the same `" + from + "`", Applicability::guess,
               {add_setting(node, from, input.sources)});
    }
  }
}

}  // namespace

void check_versions(const CheckInput& input, Diagnostics& diagnostics) {
  check_writers(input, diagnostics);
  if (!input.broken && !input.pipeline.has_broken_sync) check_synced(input, diagnostics);
  check_staleness(input, diagnostics);
  check_from(input, diagnostics);
}

}  // namespace rlflow
