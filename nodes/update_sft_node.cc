// One update of a model from examples.
#include "nodes/update_sft_node.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "nodes/algo/aggregate.h"
#include "nodes/batches.h"
#include "nodes/model/backend.h"
#include "nodes/model_access.h"
#include "nodes/payload_cast.h"
#include "nodes/token_weights.h"
#include "nodes/update_loop.h"

namespace rlflow {
namespace {

class UpdateSftNode final : public Node {
 public:
  UpdateSftNode(const Plan& plan, const PlanNode& node)
      : cut_(update_cut(node.settings, device_of(plan, node))),
        aggregate_(aggregate_of(node.settings)),
        threads_(threads_of(plan, node)),
        passes_(make_passes(device_of(plan, node))) {
    if (aggregate_ == algo::Aggregate::seq_mean_token_sum_norm) {
      throw std::runtime_error("update `" + node.name +
                               "`: examples have no max_new, so aggregate cannot be "
                               "seq_mean_token_sum_norm; choose seq_mean_token_sum or token_mean");
    }
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& examples = input_as<Examples>(inputs, 1);
    LanguageModel& model = model_of(inputs);
    UpdateLoop loop(model);
    const auto rows = static_cast<std::int64_t>(examples.tokens.rows());
    for (std::int64_t epoch = 0; epoch < cut_.epochs; ++epoch) {
      for (const std::vector<std::int64_t>& selected : minibatches(rows, cut_, context.run_seed, context.step, epoch)) {
        take_step(examples, selected, model, context, loop);
      }
    }
    return loop.finish();
  }

 private:
  void take_step(const Examples& examples, const std::vector<std::int64_t>& selected, LanguageModel& model,
                 const TaskContext& context, UpdateLoop& loop) {
    const TokenWeights weights = token_weights(aggregate_, examples.tokens.offsets, examples.loss_mask, selected, 0);
    const std::vector<Chunk> chunks = pack_examples(rows_of(examples.tokens), examples.loss_mask, selected, cut_.micro);
    std::vector<double> losses(chunks.size());
    const float* gradient = passes_->gradient(model, chunks, {1.0f, threads_, context.stop}, [&](const ChunkLoss& c) {
      for (std::size_t i = 0; i < c.logprob.size(); ++i) {
        const float weight = weights.values[static_cast<std::size_t>(chunks[c.chunk].index[i])];
        losses[c.chunk] -= static_cast<double>(weight) * c.logprob[i];
        c.dlogprob[i] = -weight;
      }
    });
    double loss = 0;
    for (double part : losses) loss += part;
    loop.step(loss, gradient, {{"tokens", weights.tokens}});
  }

  UpdateCut cut_;
  algo::Aggregate aggregate_;
  std::int32_t threads_;
  std::unique_ptr<Passes> passes_;
};

}  // namespace

std::unique_ptr<Node> make_update_sft_node(const Plan& plan, NodeId node) {
  return std::make_unique<UpdateSftNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
