// One update of a critic from returns.
#include "nodes/update_critic_node.h"

#include "nodes/algo/aggregate.h"
#include "nodes/algo/value_loss.h"
#include "nodes/batch_tensors.h"
#include "nodes/model/backend.h"
#include "nodes/model_access.h"
#include "nodes/payload_cast.h"
#include "nodes/plan_access.h"
#include "nodes/token_weights.h"
#include "nodes/update_loop.h"

namespace rlflow {
namespace {

struct CriticBatch {
  const Rollouts& traj;
  std::span<const float> returns, old_value;  // [N]
};

CriticBatch batch_of(const TaskInputs& inputs) {
  const auto& traj = input_as<Rollouts>(inputs, 1);
  const auto &returns = input_as<Numbers>(inputs, 2), &old = input_as<Numbers>(inputs, 3);
  RLFLOW_CHECK(returns.data.size() == traj.tokens.size() && old.data.size() == traj.tokens.size(),
               "inputs of another batch");
  return {traj, returns.data, old.data};
}

std::vector<float> of_chunk(std::span<const float> values, const Chunk& chunk) {
  std::vector<float> some;
  for (std::int64_t index : chunk.index) some.push_back(values[static_cast<std::size_t>(index)]);
  return some;
}

struct CriticSums {
  double loss = 0, clipped = 0;
};

class UpdateCriticNode final : public Node {
 public:
  UpdateCriticNode(const Plan& plan, const PlanNode& node)
      : clip_(real_at(node.settings, "clip")),
        cut_(update_cut(node.settings, device_of(plan, node))),
        aggregate_(aggregate_of(node.settings)),
        threads_(threads_of(plan, node)),
        passes_(make_passes(device_of(plan, node))) {
    if (aggregate_ == algo::Aggregate::seq_mean_token_sum_norm) max_new_ = max_new_of(plan, node);
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const CriticBatch batch = batch_of(inputs);
    LanguageModel& model = model_of(inputs);
    UpdateLoop loop(model);
    const auto responses = static_cast<std::int64_t>(batch.traj.batch->size());
    for (std::int64_t epoch = 0; epoch < cut_.epochs; ++epoch) {
      for (const auto& selected : minibatches(responses, cut_, context.run_seed, context.step, epoch)) {
        take_step(batch, selected, model, context, loop);
      }
    }
    return loop.finish();
  }

 private:
  void take_step(const CriticBatch& batch, const std::vector<std::int64_t>& selected, LanguageModel& model,
                 const TaskContext& context, UpdateLoop& loop) {
    const BatchDescriptor& descriptor = *batch.traj.batch;
    const TokenWeights weights = token_weights(aggregate_, descriptor.offsets, descriptor.mask, selected, max_new_);
    const std::vector<Chunk> chunks = pack_responses(rows_of(batch.traj.prompts->tokens), rows_of(batch.traj),
                                                     descriptor.group, selected, cut_.micro);
    std::vector<CriticSums> sums(chunks.size());
    const float* gradient = passes_->value_gradient(
        model, chunks, {1.0f, threads_, context.stop},
        [&](const ChunkValues& chunk) { sums[chunk.chunk] = loss_of(batch, weights, chunks[chunk.chunk], chunk); });
    CriticSums total;
    for (const CriticSums& part : sums) {
      total.loss += part.loss;
      total.clipped += part.clipped;
    }
    loop.step(total.loss, gradient,
              {{"clipfrac", total.clipped / std::max(1.0, weights.tokens)}, {"tokens", weights.tokens}});
  }

  // Fills chunk.dvalue.
  CriticSums loss_of(const CriticBatch& batch, const TokenWeights& weights, const Chunk& tokens,
                     const ChunkValues& chunk) const {
    const at::Tensor value = leaf_of(chunk.value), weight = floats_of(of_chunk(weights.values, tokens));
    const algo::ValueLoss loss = algo::value_loss(value, floats_of(of_chunk(batch.old_value, tokens)),
                                                  floats_of(of_chunk(batch.returns, tokens)), clip_);
    const at::Tensor total = algo::weighted_sum(loss.loss, weight);
    total.backward();
    copy_gradient(value, chunk.dvalue);
    return {total.item<double>(), loss.clipped.masked_select(weight != 0).sum().item<double>()};
  }

  double clip_;
  UpdateCut cut_;
  algo::Aggregate aggregate_;
  std::int32_t threads_;
  std::int64_t max_new_ = 0;
  std::unique_ptr<Passes> passes_;
};

}  // namespace

std::unique_ptr<Node> make_update_critic_node(const Plan& plan, NodeId node) {
  return std::make_unique<UpdateCriticNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
