// What log-probability does a model give to each sampled token?
#include "nodes/logprob_node.h"

#include <cmath>
#include <numeric>

#include "nodes/batches.h"
#include "nodes/model/passes.h"
#include "nodes/model_access.h"
#include "nodes/payload_cast.h"

namespace rlflow {
namespace {

class LogprobNode final : public Node {
 public:
  LogprobNode(const Plan& plan, const PlanNode& node)
      : name_(node.name),
        budget_(has(node.settings, "micro") ? int_at(node.settings, "micro") : kChunkRows),
        threads_(threads_of(plan, node)) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& traj = input_as<Rollouts>(inputs, 1);
    std::vector<std::int64_t> all(traj.batch->size());
    std::iota(all.begin(), all.end(), 0);
    const std::vector<Chunk> chunks =
        pack_responses(rows_of(traj.prompts->tokens), rows_of(traj), traj.batch->group, all, budget_);
    std::vector<float> logprob(traj.tokens.size());
    passes_.logprobs(model_of(inputs).view(), chunks,
                     {inverse_temperature(traj.batch->temperature), threads_, context.stop}, logprob);
    double sum = 0;
    for (float value : logprob) sum += value;
    if (!std::isfinite(sum)) throw NumericsError("logprob `" + name_ + "`: a log-probability is not finite");
    TaskResult result;
    result.metrics = {{"logprob/mean", logprob.empty() ? 0 : sum / static_cast<double>(logprob.size())}};
    result.outputs = {std::make_shared<Numbers>(Kind::logp, traj.batch, true, std::move(logprob))};
    return result;
  }

 private:
  std::string name_;
  std::int64_t budget_;
  std::int32_t threads_;
  Passes passes_;
};

}  // namespace

std::unique_ptr<Node> make_logprob_node(const Plan& plan, NodeId node) {
  return std::make_unique<LogprobNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
