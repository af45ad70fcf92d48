// Can what a filter samples again be run again?
#include <string>

#include "compiler/check.h"

namespace rlflow {
namespace {

bool refills(const FlowNode& node) {
  const Value* refill = node.op == "filter" ? setting(node.settings, "refill") : nullptr;
  const auto* rounds = refill == nullptr ? nullptr : refill->get<std::int64_t>();
  return rounds != nullptr && *rounds > 0;
}

Span refill_span(const FlowNode& filter) {
  const Setting& given = filter.settings.at("refill");
  return given.span.valid() ? given.span : filter.callee_span;
}

// What a round repeats: makers of prompts, responses and rewards.
bool repeats(const NodeSignature& signature) {
  for (const OutputSpec& output : signature.outputs) {
    const Kind kind = output.kind;
    if (kind != Kind::prompts && kind != Kind::traj && kind != Kind::reward && kind != Kind::cursor) return false;
  }
  return signature.op != "filter";
}

void check_chain(const CheckInput& input, NodeId id, Diagnostics& diagnostics) {
  const FlowNode& filter = input.pipeline.node(id);
  for (NodeId ancestor : ancestors(input.pipeline, id)) {
    const FlowNode& node = input.pipeline.node(ancestor);
    if (!is_live(node) || repeats(*node.signature)) continue;
    diagnostics.error("E0326", refill_span(filter), "`refill` cannot run `" + node.op + "` again")
        .at(node.callee_span, "its result reaches the filter")
        .note("a round repeats what makes prompts, responses and rewards: take, rollout, score, combine")
        .help("filter first and compute `" + node.name + "` of what is kept, or leave `refill` out");
    return;
  }
}

// Whether an edge of this step brings what the filter lets through.
bool comes_from(const Pipeline& pipeline, const NodeInput& input, NodeId filter) {
  return input.from == NodeInput::From::edge &&
         (input.node == filter || ancestors(pipeline, input.node).contains(filter));
}

// A baseline has one greedy response to each prompt of the first round and none to those of the others.
void check_baselines(const CheckInput& input, NodeId id, Diagnostics& diagnostics) {
  const FlowNode& filter = input.pipeline.node(id);
  for (const FlowNode& node : input.pipeline.nodes) {
    const NodeInput* baseline = is_live(node) ? input_named(node, "baseline") : nullptr;
    if (baseline == nullptr || baseline->from != NodeInput::From::edge) continue;
    if (comes_from(input.pipeline, *baseline, id)) continue;
    for (const NodeInput& other : node.inputs) {
      if (!comes_from(input.pipeline, other, id)) continue;
      diagnostics.error("E0326", refill_span(filter), "`refill` brings prompts that `baseline` has no response to")
          .at(baseline->span, "of the prompts taken first")
          .help("make the baseline of what is kept, or leave `refill` out");
      return;
    }
  }
}

}  // namespace

void check_refill(const CheckInput& input, Diagnostics& diagnostics) {
  for (std::size_t n = 0; n < input.pipeline.nodes.size(); ++n) {
    const FlowNode& node = input.pipeline.nodes[n];
    if (!is_live(node) || !refills(node)) continue;
    check_chain(input, NodeId(n), diagnostics);
    check_baselines(input, NodeId(n), diagnostics);
  }
}

}  // namespace rlflow
