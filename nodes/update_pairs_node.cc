// One update of a model from pairs. A token's gradient depends on both responses of its pair, so each minibatch is read
// once for the log-probabilities and once more for the gradient.
#include "nodes/update_pairs_node.h"

#include "nodes/algo/pair_loss.h"
#include "nodes/batch_tensors.h"
#include "nodes/model/backend.h"
#include "nodes/model_access.h"
#include "nodes/payload_cast.h"
#include "nodes/update_loop.h"

namespace rlflow {
namespace {

// Σ over the tokens of response 2·pair + which, for each selected pair: f32[selected].
at::Tensor sums_of(std::span<const float> logprob, const BatchDescriptor& batch,
                   const std::vector<std::int64_t>& selected, std::int64_t which) {
  std::vector<float> sums;
  for (std::int64_t pair : selected) {
    const auto response = static_cast<std::size_t>(2 * pair + which);
    double sum = 0;
    for (std::int64_t t = batch.offsets[response]; t < batch.offsets[response + 1]; ++t)
      sum += logprob[static_cast<std::size_t>(t)];
    sums.push_back(static_cast<float>(sum));
  }
  return floats_of(sums);
}

class UpdatePairsNode final : public Node {
 public:
  UpdatePairsNode(const Plan& plan, const PlanNode& node)
      : beta_(real_at(node.settings, "beta")),
        cut_(update_cut(node.settings, device_of(plan, node))),
        threads_(threads_of(plan, node)),
        passes_(make_passes(device_of(plan, node))) {
    const std::string loss = text_at(node.settings, "loss");
    if (loss != "dpo") throw std::runtime_error("this build has no code for `loss = " + loss + "`");
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    const auto& pairs = input_as<Pairs>(inputs, 1);
    const auto& reference = input_as<Numbers>(inputs, 2);
    RLFLOW_CHECK(reference.data.size() == pairs.tokens.size(), "reference log-probabilities of another batch");
    LanguageModel& model = model_of(inputs);
    UpdateLoop loop(model);
    const auto rows = static_cast<std::int64_t>(pairs.prompts.rows());
    for (std::int64_t epoch = 0; epoch < cut_.epochs; ++epoch) {
      for (const auto& selected : minibatches(rows, cut_, context.run_seed, context.step, epoch)) {
        take_step(pairs, reference.data, selected, model, context, loop);
      }
    }
    return loop.finish();
  }

 private:
  void take_step(const Pairs& pairs, std::span<const float> reference, const std::vector<std::int64_t>& selected,
                 LanguageModel& model, const TaskContext& context, UpdateLoop& loop) {
    const BatchDescriptor& batch = *pairs.batch;
    std::vector<std::int64_t> responses;
    for (std::int64_t pair : selected) responses.insert(responses.end(), {2 * pair, 2 * pair + 1});
    const std::vector<Chunk> chunks =
        pack_responses(rows_of(pairs.prompts), {pairs.tokens, batch.offsets}, batch.group, responses, cut_.micro);
    const PassSettings settings{1.0f, threads_, context.stop};
    std::vector<float> logprob(pairs.tokens.size());
    passes_->logprobs(model, chunks, settings, logprob);

    Preference preference = preference_of(pairs, reference, logprob, selected);
    const std::vector<float> slope = on_tokens(preference.slope, batch);
    const float* gradient = passes_->gradient(model, chunks, settings, [&](const ChunkLoss& chunk) {
      for (std::size_t i = 0; i < chunk.dlogprob.size(); ++i)
        chunk.dlogprob[i] = slope[static_cast<std::size_t>(chunks[chunk.chunk].index[i])];
    });
    for (std::int64_t response : responses)
      preference.metrics["tokens"] += static_cast<double>(batch.length(static_cast<std::size_t>(response)));
    loop.step(preference.loss, gradient, preference.metrics);
  }

  // The loss of the selected pairs, and its slope in each token's log-probability, one number a response.
  struct Preference {
    double loss = 0;
    std::vector<float> slope;
    std::map<std::string, double> metrics;
  };
  Preference preference_of(const Pairs& pairs, std::span<const float> reference, std::span<const float> logprob,
                           const std::vector<std::int64_t>& selected) const {
    const BatchDescriptor& batch = *pairs.batch;
    const at::Tensor chosen = sums_of(logprob, batch, selected, 0).set_requires_grad(true);
    const at::Tensor rejected = sums_of(logprob, batch, selected, 1).set_requires_grad(true);
    const at::Tensor chosen_reference = sums_of(reference, batch, selected, 0);
    const at::Tensor rejected_reference = sums_of(reference, batch, selected, 1);
    const algo::PairLoss pair = algo::dpo_loss(chosen, rejected, chosen_reference, rejected_reference, beta_);
    const at::Tensor loss = pair.loss.mean();
    loss.backward();
    Preference result;
    result.loss = loss.item<double>();
    result.slope.resize(batch.size());
    for (std::size_t i = 0; i < selected.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      result.slope[static_cast<std::size_t>(2 * selected[i])] = chosen.grad()[at].item<float>();
      result.slope[static_cast<std::size_t>(2 * selected[i] + 1)] = rejected.grad()[at].item<float>();
    }
    const at::Tensor margin = pair.margin.detach();
    result.metrics = {{"accuracy", (margin > 0).to(at::kFloat).mean().item<double>()},
                      {"margin", margin.mean().item<double>()},
                      {"reward/chosen", beta_ * (chosen.detach() - chosen_reference).mean().item<double>()},
                      {"reward/rejected", beta_ * (rejected.detach() - rejected_reference).mean().item<double>()}};
    return result;
  }

  static std::vector<float> on_tokens(const std::vector<float>& of_responses, const BatchDescriptor& batch) {
    std::vector<float> values;
    for (std::size_t i = 0; i < batch.size(); ++i)
      values.insert(values.end(), static_cast<std::size_t>(batch.length(i)), of_responses[i]);
    return values;
  }

  double beta_;
  UpdateCut cut_;
  std::int32_t threads_;
  std::unique_ptr<Passes> passes_;
};

}  // namespace

std::unique_ptr<Node> make_update_pairs_node(const Plan& plan, NodeId node) {
  return std::make_unique<UpdatePairsNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
