// A node of the plan and of the pipeline have one name.
#include "cli/planning/unread_seconds.h"

#include "cli/planning/plan_text.h"

namespace rlflow {
namespace {

const FlowNode* node_at(const Pipeline& pipeline, Span place) {
  for (const FlowNode& node : pipeline.nodes) {
    if (node.callee_span == place) return &node;
    for (const NodeOutput& output : node.outputs) {
      if (output.span == place) return &node;
    }
  }
  return nullptr;
}

}  // namespace

void add_unread_seconds(const Plan& plan, const Pipeline& pipeline, const PlanTime& time,
                        std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    const FlowNode* node = diagnostic.code == "W0701" ? node_at(pipeline, diagnostic.primary) : nullptr;
    if (node == nullptr) continue;
    for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
      if (plan.nodes[n].name != node->name || !time.nodes[n]) continue;
      diagnostic.note("on this machine about " + seconds_text(*time.nodes[n]) + " a step, an estimate");
    }
  }
}

}  // namespace rlflow
