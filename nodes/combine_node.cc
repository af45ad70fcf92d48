// How several rewards become one.
#include "nodes/combine_node.h"

#include <ATen/ATen.h>

#include "nodes/algo/masked.h"
#include "nodes/payload_cast.h"
#include "nodes/response_scores.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr double kEps = 1e-6;  // added to the deviation of a group

class CombineNode final : public Node {
 public:
  explicit CombineNode(const PlanNode& node)
      : weights_(weights_of(node, node.inputs.size())), normalize_(text_at(node.settings, "normalize")) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    const auto& first = input_as<Numbers>(inputs, 0);
    at::Tensor sum;
    for (std::size_t k = 0; k < inputs.payloads.size(); ++k) {
      const auto& reward = input_as<Numbers>(inputs, k);
      RLFLOW_CHECK(reward.batch->size() == first.batch->size(), "rewards of another batch");
      const at::Tensor part = normalized(floats_of(scores_of(reward)), *first.batch) * weights_[k];
      sum = k == 0 ? part : sum + part;
    }
    const at::Tensor flat = sum.contiguous();
    const float* data = flat.const_data_ptr<float>();
    TaskResult result;
    if (flat.numel() > 0) result.metrics = {{"reward/mean", flat.mean().item<double>()}};
    result.outputs = {
        std::make_shared<Numbers>(Kind::reward, first.batch, false, std::vector<float>(data, data + flat.numel()))};
    return result;
  }

 private:
  at::Tensor normalized(const at::Tensor& score, const BatchDescriptor& batch) const {
    if (normalize_ == "batch") return algo::whiten(score, at::ones_like(score, at::kBool));
    if (normalize_ == "group") return algo::grpo(score, groups_of(batch), kEps, algo::Scale::group);
    return score;
  }

  std::vector<double> weights_;
  std::string normalize_;
};

}  // namespace

std::unique_ptr<Node> make_combine_node(const Plan& plan, NodeId node) {
  return std::make_unique<CombineNode>(plan.nodes[node.index()]);
}

}  // namespace rlflow
