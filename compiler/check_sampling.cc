// Whether samples can be learned from: temperature, truncated sampling.
#include <string>
#include <vector>

#include "compiler/check.h"

namespace rlflow {
namespace {

double number_setting(const FlowNode& node, const char* name, double otherwise) {
  const Value* value = setting(node.settings, name);
  if (value == nullptr) return otherwise;
  if (const double* real = value->get<double>()) return *real;
  const auto* whole = value->get<std::int64_t>();
  return whole ? static_cast<double>(*whole) : otherwise;
}

Span place_of(const FlowNode& node, const char* name) {
  auto found = node.settings.find(name);
  return found == node.settings.end() || !found->second.span.valid() ? node.callee_span : found->second.span;
}

bool is_rollout(const FlowNode& node) { return is_live(node) && node.replica.valid() && node.constants.count("n") > 0; }

void check_lengths(const FlowNode& node, Diagnostics& diagnostics) {
  const double least = number_setting(node, "min_new", 0), most = number_setting(node, "max_new", least);
  if (least <= most) return;
  diagnostics
      .error("E0313", place_of(node, "min_new"), "`min_new` of `" + node.name + "` must be at most its `max_new`")
      .label("more than " + double_text(most))
      .at(place_of(node, "max_new"), "the most tokens of a response")
      .help("lower `min_new`, or raise `max_new`");
}

void check_rollout(const FlowNode& rollout, const FlowNode& update, Diagnostics& diagnostics) {
  if (number_setting(rollout, "temperature", 1) == 0) {
    diagnostics
        .error("E0415", place_of(rollout, "temperature"),
               "`" + rollout.name + "` is greedy, and `" + update.name + "` cannot learn from it")
        .label("always the most likely token")
        .at(update.callee_span, "learns from it")
        .note("with temperature 0 the responses to one prompt are all alike, and nothing is explored")
        .help("write `temperature = 1.0`; `evaluate` may be greedy");
  }
  struct Truncation {
    const char* name;
    double off;
  };
  for (const Truncation& t : {Truncation{"top_p", 1}, Truncation{"top_k", 0}, Truncation{"min_p", 0}}) {
    if (number_setting(rollout, t.name, t.off) == t.off) continue;
    diagnostics
        .warning("W0710", place_of(rollout, t.name),
                 "`" + std::string(t.name) + "` cuts off tokens that `" + update.name + "` believes possible")
        .at(update.callee_span, "learns from these samples")
        .note("the recorded log-probs are of the whole softmax, not of the truncated one");
  }
}

// A replica whose weights are the model's rounded: a small and lasting difference of policies.
void check_rounding(const CheckInput& input, const FlowNode& rollout, const FlowNode& update,
                    Diagnostics& diagnostics) {
  const Replica& replica = input.pipeline.replicas[rollout.replica.index()];
  if (!update.model.valid() || replica.model != update.model) return;
  const bool rounded = replica.dtype == Dtype::bf16 && input.pipeline.models[update.model.index()].dtype == Dtype::f32;
  if (!rounded || setting(update.settings, "off_policy") != nullptr) return;
  diagnostics
      .warning("W0711", rollout.callee_span,
               "`" + replica.name + "` samples with weights rounded to bf16, and `" + update.name + "` learns in f32")
      .at(replica.name_span, "a copy of `" + input.pipeline.models[update.model.index()].name + "`, rounded")
      .at(update.callee_span, "takes the samples for its own")
      .help("add `off_policy = truncate(2.0)` to `" + update.name + "`, or give both one `dtype`");
}

// What the update learns from: its ancestors, but not through a baseline, whose rollout is greedy on purpose.
std::set<NodeId> learned_from(const Pipeline& pipeline, NodeId update) {
  std::set<NodeId> found;
  std::vector<NodeId> open{update};
  while (!open.empty()) {
    const FlowNode& node = pipeline.node(open.back());
    open.pop_back();
    for (const NodeInput& input : node.inputs) {
      if (input.from != NodeInput::From::edge) continue;
      const bool known = node.signature != nullptr;
      if (known && node.signature->arguments[static_cast<std::size_t>(input.argument)].greedy) continue;
      if (found.insert(input.node).second) open.push_back(input.node);
    }
  }
  return found;
}

}  // namespace

void check_sampling(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (const FlowNode& node : pipeline.nodes) {
    if (is_live(node)) check_lengths(node, diagnostics);
  }
  std::set<NodeId> told;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    const FlowNode& update = pipeline.nodes[n];
    if (!is_live(update) || update.signature->effect != NodeEffect::update) continue;
    for (NodeId id : learned_from(pipeline, NodeId(n))) {
      if (!is_rollout(pipeline.node(id)) || !told.insert(id).second) continue;
      check_rollout(pipeline.node(id), update, diagnostics);
      check_rounding(input, pipeline.node(id), update, diagnostics);
    }
  }
}

}  // namespace rlflow
