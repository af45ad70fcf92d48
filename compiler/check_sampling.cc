// Whether samples can be learned from: temperature, truncated sampling, the size of groups.
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

bool compares_within_group(const std::string& estimator) {
  for (const char* name : {"grpo", "dr_grpo", "rloo", "opo", "pass_at_k", "reinforce_pp_baseline", "gdpo"}) {
    if (estimator == name) return true;
  }
  return false;
}

void check_group_size(const CheckInput& input, NodeId id, Diagnostics& diagnostics) {
  const FlowNode& node = input.pipeline.node(id);
  const Value* estimator = setting(node.settings, "estimator");
  if (!is_live(node) || estimator == nullptr || estimator->get<Word>() == nullptr) return;
  const std::string& name = estimator->get<Word>()->name;
  if (!compares_within_group(name)) return;
  for (NodeId ancestor : ancestors(input.pipeline, id)) {
    const FlowNode& rollout = input.pipeline.node(ancestor);
    if (!is_rollout(rollout) || int_at(rollout.constants, "n") != 1) continue;
    Span at = rollout.callee_span;
    for (const NodeInput& argument : rollout.inputs) {
      if (argument.from == NodeInput::From::constant && argument.span.valid()) at = argument.span;
    }
    diagnostics.error("E0305", at, "a group of one has no spread: every advantage would be 0")
        .label("n is 1 here")
        .at(place_of(node, "estimator"), "compares the responses of one prompt with each other")
        .help("give `" + rollout.op + "` an `n` of 2 or more, or take `estimator = gae` with a critic");
    return;
  }
}

// What the update learns from: its ancestors, but not through the `baseline` of an advantage, whose rollout is greedy
// on purpose.
std::set<NodeId> learned_from(const Pipeline& pipeline, NodeId update) {
  std::set<NodeId> found;
  std::vector<NodeId> open{update};
  while (!open.empty()) {
    const FlowNode& node = pipeline.node(open.back());
    open.pop_back();
    for (const NodeInput& input : node.inputs) {
      if (input.from != NodeInput::From::edge) continue;
      const bool known = node.signature != nullptr;
      if (known && node.signature->arguments[static_cast<std::size_t>(input.argument)].name == "baseline") continue;
      if (found.insert(input.node).second) open.push_back(input.node);
    }
  }
  return found;
}

}  // namespace

void check_sampling(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  std::set<NodeId> told;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    check_group_size(input, NodeId(n), diagnostics);
    const FlowNode& update = pipeline.nodes[n];
    if (!is_live(update) || update.signature->effect != NodeEffect::update) continue;
    for (NodeId id : learned_from(pipeline, NodeId(n))) {
      if (is_rollout(pipeline.node(id)) && told.insert(id).second)
        check_rollout(pipeline.node(id), update, diagnostics);
    }
  }
}

}  // namespace rlflow
