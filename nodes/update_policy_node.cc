// One update of a policy from advantages.
#include "nodes/update_policy_node.h"

#include <cmath>
#include <optional>
#include <utility>

#include "nodes/batches.h"
#include "nodes/model/backend.h"
#include "nodes/model_access.h"
#include "nodes/off_policy_weights.h"
#include "nodes/payload_cast.h"
#include "nodes/plan_access.h"
#include "nodes/policy_objective.h"
#include "nodes/token_weights.h"
#include "nodes/update_loop.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

// algorithms: run-time gates. For f32 of any token; for bf16 of their mean.
constexpr double kLargestGap = 1e-3, kLargestMeanGap = 0.02;

// The batch of one update, token by token.
struct PolicyBatch {
  const Rollouts& traj;
  std::span<const float> old_logprob;  // [N]
  std::span<const float> reference;    // [N] or empty
  std::vector<float> advantage;        // [N]
  std::vector<float> correction;       // [N], or empty without one
  std::vector<std::int64_t> response;  // [N]: whose token it is

  bool has_advantage(std::int64_t i) const {
    for (std::int64_t t = traj.batch->offsets[static_cast<std::size_t>(i)];
         t < traj.batch->offsets[static_cast<std::size_t>(i) + 1]; ++t) {
      const auto at = static_cast<std::size_t>(t);
      if (advantage[at] != 0 && (correction.empty() || correction[at] != 0)) return true;
    }
    return false;
  }
};

std::vector<float> per_token(const Numbers& numbers) {
  if (numbers.per_token) return numbers.data;
  std::vector<float> values;
  for (std::size_t i = 0; i < numbers.batch->size(); ++i) {
    values.insert(values.end(), static_cast<std::size_t>(numbers.batch->length(i)), numbers.data[i]);
  }
  return values;
}

// Per-token log-probabilities from input `index`; null where it is absent.
const Numbers* logprobs_at(const TaskInputs& inputs, std::size_t index) {
  if (index >= inputs.payloads.size() || !inputs.payloads[index]) return nullptr;
  const auto& numbers = input_as<Numbers>(inputs, index);
  RLFLOW_CHECK(numbers.per_token, "log-probabilities are one a token");
  return &numbers;
}

PolicyBatch batch_of(const TaskInputs& inputs) {
  const auto& traj = input_as<Rollouts>(inputs, 1);
  const Numbers *old = logprobs_at(inputs, 3), *reference = logprobs_at(inputs, 4);
  PolicyBatch batch{traj, old ? old->data : traj.logprob, {}, per_token(input_as<Numbers>(inputs, 2)), {}, {}};
  for (std::size_t i = 0; i < traj.batch->size(); ++i) {
    batch.response.insert(batch.response.end(), static_cast<std::size_t>(traj.batch->length(i)),
                          static_cast<std::int64_t>(i));
  }
  if (reference) batch.reference = reference->data;
  const std::size_t tokens = traj.tokens.size();
  RLFLOW_CHECK(batch.old_logprob.size() == tokens && batch.advantage.size() == tokens &&
                   (!reference || batch.reference.size() == tokens),
               "inputs of another batch");
  return batch;
}

// `chosen` over all tokens of the batch, or empty.
PolicyTokens tokens_of(const PolicyBatch& batch, const TokenWeights& weights, const std::vector<std::uint8_t>& chosen,
                       const Chunk& chunk) {
  PolicyTokens tokens;
  for (std::int64_t index : chunk.index) {
    const auto t = static_cast<std::size_t>(index);
    tokens.old_logprob.push_back(batch.old_logprob[t]);
    tokens.advantage.push_back(batch.advantage[t]);
    tokens.weight.push_back(weights.values[t]);
    tokens.response.push_back(batch.response[t]);
    if (!batch.reference.empty()) tokens.reference.push_back(batch.reference[t]);
    if (!batch.correction.empty()) tokens.correction.push_back(batch.correction[t]);
    if (!chosen.empty()) tokens.chosen.push_back(chosen[t]);
  }
  return tokens;
}

// How far the log-probabilities of training are from those of sampling, over the tokens computed.
struct Gap {
  double largest = 0, sum = 0, tokens = 0;

  void add(std::span<const float> logprob, const Chunk& chunk, const std::vector<float>& sampled) {
    for (std::size_t i = 0; i < logprob.size(); ++i) {
      const double gap = std::abs(static_cast<double>(logprob[i]) - sampled[static_cast<std::size_t>(chunk.index[i])]);
      largest = gap > largest || std::isnan(gap) ? gap : largest;
      sum += gap;
      tokens += 1;
    }
  }
  void add(const Gap& other) {
    largest = other.largest > largest || std::isnan(other.largest) ? other.largest : largest;
    sum += other.sum;
    tokens += other.tokens;
  }
};

class UpdatePolicyNode final : public Node {
 public:
  UpdatePolicyNode(const Plan& plan, const PlanNode& node)
      : name_(node.name),
        objective_(policy_objective(node.settings)),
        off_policy_(off_policy_of(node.settings)),
        cut_(update_cut(node.settings, device_of(plan, node))),
        aggregate_(aggregate_of(node.settings)),
        threads_(threads_of(plan, node)),
        dtype_(plan.models[node.model.index()].dtype),
        same_dtype_(sampling_dtype(plan, node) == dtype_),
        passes_(make_passes(device_of(plan, node))) {
    if (aggregate_ == algo::Aggregate::seq_mean_token_sum_norm) max_new_ = max_new_of(plan, node);
  }

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    PolicyBatch batch = batch_of(inputs);
    std::map<std::string, double> corrected;
    if (off_policy_) {
      OffPolicyWeights weights =
          off_policy_weights(*off_policy_, *batch.traj.batch, batch.old_logprob, batch.traj.logprob);
      batch.correction = std::move(weights.values);
      corrected = std::move(weights.metrics);
    }
    LanguageModel& model = model_of(inputs);
    UpdateLoop loop(model);
    const auto responses = static_cast<std::int64_t>(batch.traj.batch->size());
    Gap gap;
    for (std::int64_t epoch = 0; epoch < cut_.epochs; ++epoch) {
      for (const auto& selected : minibatches(responses, cut_, context.run_seed, context.step, epoch)) {
        take_step(batch, selected, model, context, loop, gap);
      }
    }
    TaskResult result = loop.finish(corrected);
    if (batch.traj.version == context.version - 1 && gap.tokens > 0) {
      result.metrics.push_back({"rollout_gap/max", gap.largest});
      result.metrics.push_back({"rollout_gap/mean", gap.sum / gap.tokens});
    }
    return result;
  }

 private:
  // Those of `selected` that move the gradient.
  std::vector<std::int64_t> computed(const PolicyBatch& batch, const std::vector<std::int64_t>& selected) const {
    if (moves_without_advantage(objective_)) return selected;
    std::vector<std::int64_t> some;
    for (std::int64_t i : selected) {
      if (batch.has_advantage(i)) some.push_back(i);
    }
    return some;
  }

  void take_step(const PolicyBatch& batch, const std::vector<std::int64_t>& selected, LanguageModel& model,
                 const TaskContext& context, UpdateLoop& loop, Gap& gap) {
    const BatchDescriptor& descriptor = *batch.traj.batch;
    const TokenWeights weights = token_weights(aggregate_, descriptor.offsets, descriptor.mask, selected, max_new_);
    const std::vector<Chunk> chunks = pack_responses(rows_of(batch.traj.prompts->tokens), rows_of(batch.traj),
                                                     descriptor.group, computed(batch, selected), cut_.micro);
    const PassSettings passing{inverse_temperature(descriptor.temperature), threads_, context.stop, cut_.recompute};
    std::vector<std::uint8_t> chosen;
    if (chooses_tokens(objective_)) chosen = choose(batch, selected, model, context, passing, loop.planned());
    std::vector<PolicySums> sums(chunks.size());
    std::vector<Gap> gaps(chunks.size());
    const float* gradient = passes_->gradient(model, chunks, passing, [&](const ChunkLoss& chunk) {
      PolicyTokens tokens = tokens_of(batch, weights, chosen, chunks[chunk.chunk]);
      sums[chunk.chunk] = policy_loss(objective_, tokens, chunk);
      gaps[chunk.chunk].add(chunk.logprob, chunks[chunk.chunk], batch.traj.logprob);
    });
    PolicySums total;
    for (const PolicySums& part : sums) total += part;
    if (loop.planned() == 0 && batch.traj.version == context.version - 1) {
      for (const Gap& part : gaps) gap.add(part);
      check_gap(gap);
    }
    loop.step(total.loss, gradient, metrics_of(total, weights.tokens, !batch.reference.empty()));
  }

  // One bit for each token of the batch, from the log-probabilities of all tokens of the minibatch.
  std::vector<std::uint8_t> choose(const PolicyBatch& batch, const std::vector<std::int64_t>& selected,
                                   const LanguageModel& model, const TaskContext& context, const PassSettings& passing,
                                   std::int64_t optimizer_step) {
    const BatchDescriptor& descriptor = *batch.traj.batch;
    const std::vector<Chunk> chunks = pack_responses(rows_of(batch.traj.prompts->tokens), rows_of(batch.traj),
                                                     descriptor.group, selected, cut_.micro);
    std::vector<float> logprob(batch.traj.tokens.size());
    passes_->logprobs(model, chunks, passing, logprob);
    std::vector<std::uint8_t> mask(batch.traj.tokens.size());
    for (std::int64_t i : selected) {
      for (std::int64_t t = descriptor.offsets[static_cast<std::size_t>(i)];
           t < descriptor.offsets[static_cast<std::size_t>(i) + 1]; ++t) {
        mask[static_cast<std::size_t>(t)] = descriptor.mask[static_cast<std::size_t>(t)];
      }
    }
    const std::uint64_t key = h64(RandomPurpose::loss, {context.run_seed, static_cast<std::uint64_t>(context.step),
                                                        static_cast<std::uint64_t>(optimizer_step)});
    const std::vector<std::int64_t> rank = permutation(static_cast<std::int64_t>(mask.size()), PhiloxStream(key));
    return chosen_tokens(objective_, logprob, batch.old_logprob, batch.advantage, mask, rank);
  }

  void check_gap(const Gap& gap) const {
    const bool mean = dtype_ == Dtype::bf16;
    const double found = mean ? gap.sum / std::max(1.0, gap.tokens) : gap.largest;
    const double limit = mean ? kLargestMeanGap : kLargestGap;
    // Other weights, or not finite: then the loss is not either.
    if (!same_dtype_ || found <= limit || std::isnan(gap.largest)) return;
    throw NumericsError("update `" + name_ + "`: log-probabilities of training and sampling differ by " +
                        (mean ? "" : "up to ") + double_text(found) + (mean ? " on average" : "") +
                        " for the same weights, the limit is " + double_text(limit));
  }

  // Fractions are of all tokens of the minibatch: without an advantage nothing is clipped, so a response left out
  // contributes what it would have. The other means are over the tokens computed.
  std::map<std::string, double> metrics_of(const PolicySums& sums, double tokens, bool has_reference) const {
    const double all = std::max(1.0, tokens), seen = std::max(1.0, sums.tokens);
    std::map<std::string, double> metrics = {{"clipfrac", sums.clipped / all},
                                             {"approx_kl", sums.approx_kl / seen},
                                             {"entropy", sums.entropy / seen},
                                             {"tokens", tokens}};
    if (objective_.clip.dual) metrics["clipfrac_lower"] = sums.clipped_lower / all;
    if (has_reference) metrics["kl"] = sums.kl / seen;
    return metrics;
  }

  std::string name_;
  PolicyObjective objective_;
  std::optional<OffPolicy> off_policy_;
  UpdateCut cut_;
  algo::Aggregate aggregate_;
  std::int32_t threads_;
  std::int64_t max_new_ = 0;
  Dtype dtype_;
  bool same_dtype_;  // training and sampling read the same weights
  std::unique_ptr<Passes> passes_;
};

}  // namespace

std::unique_ptr<Node> make_update_policy_node(const Plan& plan, NodeId node) {
  return std::make_unique<UpdatePolicyNode>(plan, plan.nodes[node.index()]);
}

}  // namespace rlflow
