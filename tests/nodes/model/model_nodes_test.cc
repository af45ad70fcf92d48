// Do the nodes that use a model do what their settings say: rollout, logprob, update, evaluate?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <cmath>
#include <limits>
#include <numeric>

#include "nodes/batches.h"
#include "nodes/evaluate_node.h"
#include "nodes/model/cpu_model.h"
#include "nodes/rollout_node.h"
#include "nodes/signatures/catalog.h"
#include "nodes/token_reading_node.h"
#include "nodes/update_loop.h"
#include "nodes/update_pairs_node.h"
#include "nodes/update_policy_node.h"
#include "nodes/update_sft_node.h"

namespace rlflow {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

Attributes policy_settings() {
  return {{"loss", Word{"ppo"}},      {"clip", 0.2},    {"kl", 0.0},
          {"kl_kind", Word{"k3"}},    {"entropy", 0.0}, {"aggregate", Word{"token_mean"}},
          {"epochs", std::int64_t{1}}};
}

// A plan with one group, one model and a rollout; tests add the node they ask about.
class ModelNodes : public ::testing::Test {
 protected:
  ModelNodes() {
    plan_.root = RLFLOW_SOURCE_DIR;
    plan_.groups.push_back({});
    plan_.groups[0].threads = 2;
    PlanModel model;
    model.path = "models/tiny";
    model.group = GroupId(0);
    plan_.models.push_back(model);
    rollout_ = add("traj", {{"temperature", 0.9}, {"max_new", std::int64_t{10}}, {"emit", Word{"group"}}});
    plan_.nodes.back().constants = {{"n", std::int64_t{3}}};
    for (std::int32_t i = 0; i < 6; ++i) {
      prompts_->tokens.push_row(std::vector<std::int32_t>{1, 3 + i, 13, 9 - i, 16});
      prompts_->source_row.push_back(i);
      prompts_->text.push_back("prompt");
      prompts_->answer.push_back("answer");
    }
  }

  NodeId add(const std::string& name, const Attributes& settings) {
    PlanNode node;
    node.name = name;
    node.settings = settings;
    node.group = GroupId(0);
    node.model = ModelId(0);
    node.tokenizer = ModelId(0);
    node.inputs.resize(5);
    node.inputs[1].node = NodeId(0);
    plan_.nodes.push_back(node);
    return NodeId(plan_.nodes.size() - 1);
  }

  static std::unique_ptr<CpuModel> model(double learning_rate = 1e-2) {
    auto result = CpuModel::draw(kTiny, 1, 2);
    AdamWSettings settings;
    settings.schedule.peak = learning_rate;
    result->attach_optimizer(settings);
    return result;
  }

  static TaskResult run(Node& node, CpuModel& model, std::vector<PayloadPtr> payloads, Version version = 0) {
    TaskInputs inputs;
    inputs.payloads = std::move(payloads);
    inputs.model = &model;
    TaskContext context;
    context.step = 1;
    context.version = version;
    return node.run(inputs, context);
  }

  std::shared_ptr<const Rollouts> sample(CpuModel& model) {
    const TaskResult result = run(*make_rollout_node(plan_, rollout_), model, {nullptr, prompts_});
    return std::dynamic_pointer_cast<const Rollouts>(result.outputs.at(0));
  }

  // Advantages −1, 0, 1 within each group; the last group has only zeros.
  static PayloadPtr advantages(const Rollouts& traj) {
    std::vector<float> values;
    for (std::size_t i = 0; i < traj.batch->size(); ++i) {
      values.push_back(traj.batch->group[i] == 5 ? 0.0f : static_cast<float>(i % 3) - 1);
    }
    return std::make_shared<Numbers>(Kind::adv, traj.batch, false, values);
  }
  static PayloadPtr shifted(const Rollouts& traj, float by) {
    std::vector<float> values = traj.logprob;
    for (float& value : values) value += by;
    return std::make_shared<Numbers>(Kind::logp, traj.batch, true, values);
  }

  TaskResult update(const Attributes& settings, CpuModel& model, const std::shared_ptr<const Rollouts>& traj,
                    PayloadPtr old = nullptr, PayloadPtr ref = nullptr) {
    const NodeId node = add("step", settings);
    return run(*make_update_policy_node(plan_, node), model, {nullptr, traj, advantages(*traj), old, ref}, 1);
  }

  static double metric(const TaskResult& result, const std::string& name) {
    for (const Metric& metric : result.metrics) {
      if (metric.name == name) return metric.value;
    }
    ADD_FAILURE() << "no metric " << name;
    return 0;
  }

  Plan plan_;
  NodeId rollout_;
  std::shared_ptr<Prompts> prompts_ = std::make_shared<Prompts>();
};

TEST_F(ModelNodes, ARolloutHandsOnEachGroupAsItIsInTheWhole) {
  const auto drawn = model();
  std::unique_ptr<Node> rollout = make_rollout_node(plan_, rollout_);
  ASSERT_TRUE(rollout->emits_groups());
  std::map<std::int32_t, std::shared_ptr<const Rollouts>> emitted;
  TaskInputs inputs;
  inputs.payloads = {nullptr, prompts_};
  inputs.model = drawn.get();
  TaskContext context;
  context.step = 1;
  context.emit = [&](std::int32_t group, std::vector<PayloadPtr> outputs) {
    emitted[group] = std::dynamic_pointer_cast<const Rollouts>(outputs.at(0));
  };
  const TaskResult result = rollout->run(inputs, context);
  const auto whole = std::dynamic_pointer_cast<const Rollouts>(result.outputs.at(0));
  ASSERT_EQ(emitted.size(), 6u);
  std::vector<std::int32_t> tokens, group;
  std::vector<float> logprob;
  for (const auto& [number, traj] : emitted) {
    EXPECT_EQ(traj->prompts, prompts_);
    tokens.insert(tokens.end(), traj->tokens.begin(), traj->tokens.end());
    logprob.insert(logprob.end(), traj->logprob.begin(), traj->logprob.end());
    group.insert(group.end(), traj->batch->group.begin(), traj->batch->group.end());
  }
  EXPECT_EQ(tokens, whole->tokens);
  EXPECT_EQ(logprob, whole->logprob);
  EXPECT_EQ(group, whole->batch->group);
  plan_.nodes[rollout_.index()].settings["emit"] = Word{"batch"};
  EXPECT_FALSE(make_rollout_node(plan_, rollout_)->emits_groups());
}

TEST_F(ModelNodes, ARolloutIsWholeAndRepeats) {
  const auto policy = model();
  const auto traj = sample(*policy), again = sample(*policy);
  const BatchDescriptor& batch = *traj->batch;
  ASSERT_EQ(batch.size(), 18u);
  EXPECT_EQ(batch.group[4], 1);
  EXPECT_EQ(batch.temperature, 0.9);
  EXPECT_EQ(batch.tokens(), static_cast<std::int64_t>(traj->tokens.size()));
  EXPECT_EQ(traj->prompts, prompts_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::int32_t last = traj->tokens[static_cast<std::size_t>(batch.offsets[i + 1]) - 1];
    EXPECT_EQ(batch.finish[i] == static_cast<std::uint8_t>(FinishReason::end), last == 2);
    EXPECT_LE(batch.length(i), 10);
  }
  EXPECT_EQ(traj->tokens, again->tokens);
  EXPECT_EQ(traj->logprob, again->logprob);
}

TEST_F(ModelNodes, LogprobOfTheSamplingWeightsIsTheSampledOne) {
  const auto policy = model();
  const auto traj = sample(*policy);
  const NodeId node = add("old", {{"micro", Quantity{40, Unit::tokens}}});
  const TaskResult result = run(*make_logprob_node(plan_, node), *policy, {nullptr, traj});
  const auto& numbers = dynamic_cast<const Numbers&>(*result.outputs.at(0));
  EXPECT_EQ(numbers.kind(), Kind::logp);
  EXPECT_EQ(numbers.data, traj->logprob);
}

TEST_F(ModelNodes, AnUpdateMovesTheWeightsTheSameWayEachTime) {
  const auto one = model(), two = model();
  const auto traj = sample(*one);
  const std::string before = hex(one->weights_digest());
  const TaskResult result = update(policy_settings(), *one, traj);
  update(policy_settings(), *two, traj);
  EXPECT_NE(hex(one->weights_digest()), before);
  EXPECT_EQ(one->state_digest(), two->state_digest());
  EXPECT_EQ(result.update->applied, 1);
  EXPECT_EQ(result.update->planned, 1);
  EXPECT_EQ(metric(result, "rollout_gap/max"), 0);
  EXPECT_EQ(metric(result, "clipfrac"), 0);
  EXPECT_EQ(metric(result, "lr"), 1e-2);
  EXPECT_EQ(metric(result, "tokens"), static_cast<double>(traj->tokens.size()));
}

// What the catalog says that other nodes may read by name: `step.entropy`.
TEST_F(ModelNodes, AnUpdateReportsTheMetricsOfItsSignature) {
  const auto policy = model();
  const auto traj = sample(*policy);
  Attributes settings = policy_settings();
  settings["kl"] = 0.1;
  settings["dual_clip"] = 3.0;
  settings["off_policy"] = CallValue{"truncate", {}, {{"c", 2.0}}};
  const TaskResult result = update(settings, *policy, traj, nullptr, shifted(*traj, 0.1f));
  std::vector<std::string> reported;
  for (const auto& [name, value] : dynamic_cast<const Metrics&>(*result.outputs.at(0)).values) reported.push_back(name);
  for (const NodeSignature& signature : catalog().nodes) {
    if (signature.key != "update/policy") continue;
    EXPECT_GE(signature.outputs[0].metrics.size(), 9u);
    for (const MetricSpec& metric : signature.outputs[0].metrics) EXPECT_THAT(reported, Contains(metric.name));
  }
}

TEST_F(ModelNodes, TheGradientDoesNotDependOnMicroForAnyAggregate) {
  const auto traj = sample(*model());
  for (const char* aggregate :
       {"token_mean", "token_sum", "seq_mean_token_sum", "seq_mean_token_mean", "seq_mean_token_sum_norm"}) {
    Attributes settings = policy_settings();
    settings["aggregate"] = Word{aggregate};
    settings["kl"] = 0.1;
    settings["entropy"] = 0.01;
    settings["dual_clip"] = 3.0;
    const auto whole_model = model(), cut_model = model();
    const TaskResult whole = update(settings, *whole_model, traj, shifted(*traj, -0.1f), shifted(*traj, 0.3f));
    settings["micro"] = Quantity{20, Unit::tokens};
    const TaskResult cut = update(settings, *cut_model, traj, shifted(*traj, -0.1f), shifted(*traj, 0.3f));
    for (const char* name : {"loss", "grad_norm", "kl", "entropy", "approx_kl"}) {
      EXPECT_NEAR(metric(cut, name), metric(whole, name), 1e-5 * (1 + std::abs(metric(whole, name))))
          << aggregate << name;
    }
    EXPECT_GT(metric(whole, "grad_norm"), 1e-3);
  }
}

// Every loss learns, and micro-batches change neither what is learned nor what is reported.
TEST_F(ModelNodes, TheGradientDoesNotDependOnMicroForAnyLoss) {
  const auto traj = sample(*model());
  for (const char* loss :
       {"gspo", "cispo", "sapo", "gmpo", "gpg", "reinforce", "dppo_tv", "dppo_kl", "clip_cov", "kl_cov"}) {
    Attributes settings = policy_settings();
    settings["loss"] = Word{loss};
    settings["aggregate"] = Word{"seq_mean_token_mean"};
    const auto whole_model = model(), cut_model = model();
    const TaskResult whole = update(settings, *whole_model, traj, shifted(*traj, -0.1f));
    settings["micro"] = Quantity{20, Unit::tokens};
    const TaskResult cut = update(settings, *cut_model, traj, shifted(*traj, -0.1f));
    for (const char* name : {"loss", "grad_norm", "clipfrac", "approx_kl"}) {
      EXPECT_NEAR(metric(cut, name), metric(whole, name), 1e-5 * (1 + std::abs(metric(whole, name)))) << loss << name;
    }
    EXPECT_GT(metric(whole, "grad_norm"), 1e-3) << loss;
  }
}

TEST_F(ModelNodes, RecomputedActivationsGiveTheSameBits) {
  const auto traj = sample(*model());
  const auto kept = model(), again = model();
  Attributes settings = policy_settings();
  settings["micro"] = Quantity{40, Unit::tokens};
  settings["entropy"] = 0.01;
  update(settings, *kept, traj);
  settings["recompute"] = true;
  update(settings, *again, traj);
  EXPECT_EQ(kept->state_digest(), again->state_digest());
}

TEST_F(ModelNodes, OldSamplesCountByTheirRatio) {
  const auto sampler = model();
  auto traj = std::make_shared<Rollouts>(*sample(*sampler));
  traj->version = -1;  // older than the policy: no gate between them
  // ℓ_old − ℓ_rollout = ln 3 for each token: truncated at 2 the policy's gradient doubles.
  const PayloadPtr old = shifted(*traj, 1.0986123f);
  const auto norm = [&](std::optional<CallValue> correction) {
    Attributes settings = policy_settings();
    settings["loss"] = Word{"reinforce"};
    if (correction) settings["off_policy"] = *correction;
    return update(settings, *model(), traj, old);
  };
  const double plain = metric(norm(std::nullopt), "grad_norm");
  const TaskResult truncated = norm(CallValue{"truncate", {}, {{"c", 2.0}}});
  EXPECT_NEAR(metric(truncated, "grad_norm"), 2 * plain, 1e-5 * plain);
  EXPECT_NEAR(metric(truncated, "off_policy_kl"), -1.0986123, 1e-5);
  EXPECT_NEAR(metric(truncated, "off_policy_chi2"), 8, 1e-4);
  EXPECT_NEAR(metric(truncated, "off_policy_ess"), 1, 1e-6);
  EXPECT_NEAR(metric(norm(CallValue{"mask", {}, {{"lo", 0.5}, {"hi", 4.0}}}), "grad_norm"), 3 * plain, 1e-5 * plain);
  const TaskResult nothing = norm(CallValue{"reject", {}, {{"kind", Word{"k2"}}, {"bound", 0.1}}});
  EXPECT_EQ(metric(nothing, "grad_norm"), 0);
  EXPECT_EQ(metric(nothing, "off_policy_ess"), 0);
  EXPECT_EQ(metric(nothing, "tokens"), metric(truncated, "tokens"));
}

TEST_F(ModelNodes, ResponsesWithoutAdvantageAreLeftOutButCounted) {
  const auto left_out = model(), computed = model();
  const auto traj = sample(*left_out);
  const TaskResult fast = update(policy_settings(), *left_out, traj);
  Attributes settings = policy_settings();
  settings["entropy"] = 1e-30;  // asks for every token, weighs nothing
  const TaskResult full = update(settings, *computed, traj);
  EXPECT_NEAR(metric(fast, "grad_norm"), metric(full, "grad_norm"), 1e-6);
  EXPECT_NEAR(metric(fast, "loss"), metric(full, "loss"), 1e-6);
  EXPECT_EQ(metric(fast, "tokens"), metric(full, "tokens"));
}

TEST_F(ModelNodes, ARatioBeyondTheClipTeachesNothing) {
  const auto policy = model();
  const auto traj = sample(*policy);
  // ρ = e ≈ 2.7 for every token: clipped where A > 0 (a third of the responses), not where A < 0.
  const TaskResult result = update(policy_settings(), *policy, traj, shifted(*traj, -1.0f));
  double positive = 0;
  for (std::size_t i = 0; i < traj->batch->size(); ++i) {
    if (traj->batch->group[i] != 5 && i % 3 == 2) positive += static_cast<double>(traj->batch->length(i));
  }
  EXPECT_NEAR(metric(result, "clipfrac"), positive / static_cast<double>(traj->tokens.size()), 1e-9);
  EXPECT_NEAR(metric(result, "approx_kl"), -1, 1e-5);  // over the tokens computed, which are not all
}

TEST_F(ModelNodes, SamplingThatDisagreesWithTrainingStopsTheUpdate) {
  const auto policy = model();
  auto traj = std::make_shared<Rollouts>(*sample(*policy));
  traj->logprob[0] -= 0.01f;
  const std::string before = hex(policy->weights_digest());
  EXPECT_THAT(
      [&] { update(policy_settings(), *policy, traj); },
      ThrowsMessage<NumericsError>(HasSubstr("update `step`: log-probabilities of training and sampling differ")));
  EXPECT_EQ(hex(policy->weights_digest()), before);
  // Samples of other weights may differ.
  traj->version = -3;
  EXPECT_NO_THROW(update(policy_settings(), *policy, traj));
}

TEST_F(ModelNodes, ALossThatIsNotFiniteSkipsTheOptimizerStep) {
  const auto policy = model();
  const auto traj = sample(*policy);
  const Digest before = policy->state_digest();
  Attributes settings = policy_settings();
  settings["kl"] = 0.1;
  const TaskResult result =
      update(settings, *policy, traj, nullptr, shifted(*traj, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(result.update->applied, 0);
  EXPECT_EQ(result.update->planned, 1);
  EXPECT_EQ(policy->state_digest(), before);
}

TEST_F(ModelNodes, EpochsAndMinibatchesAreOptimizerSteps) {
  const auto policy = model(1e-4);
  const auto traj = sample(*policy);
  Attributes settings = policy_settings();
  settings["epochs"] = std::int64_t{2};
  settings["minibatch"] = Quantity{5, Unit::seqs};
  const TaskResult result = update(settings, *policy, traj);
  EXPECT_EQ(result.update->planned, 8);  // ⌈18/5⌉ · 2
  EXPECT_EQ(policy->optimizer()->steps(), 8);
}

TEST(Minibatches, EachSequenceOnceAnEpoch) {
  UpdateCut cut;
  cut.minibatch = 4;
  const auto first = minibatches(10, cut, 1, 1, 0);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[2].size(), 2u);
  std::vector<std::int64_t> seen;
  for (const auto& part : first) seen.insert(seen.end(), part.begin(), part.end());
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(first, minibatches(10, cut, 1, 1, 0));
  EXPECT_NE(first, minibatches(10, cut, 1, 1, 1));
  EXPECT_NE(first, minibatches(10, cut, 1, 2, 0));
}

TEST_F(ModelNodes, FineTuningLearnsItsExamples) {
  const auto policy = model();
  auto examples = std::make_shared<Examples>();
  for (std::int32_t i = 0; i < 4; ++i) {
    examples->tokens.push_row(std::vector<std::int32_t>{1, 3 + i, 16, 4 + i, 2});
    for (std::uint8_t m : {0, 0, 0, 1, 1}) examples->loss_mask.push_back(m);
    examples->source_row.push_back(i);
  }
  const NodeId id =
      add("step", {{"loss", Word{"sft"}}, {"aggregate", Word{"token_mean"}}, {"epochs", std::int64_t{1}}});
  const auto node = make_update_sft_node(plan_, id);
  const double first = metric(run(*node, *policy, {nullptr, examples}, 1), "loss");
  TaskResult last;
  for (int i = 0; i < 60; ++i) last = run(*node, *policy, {nullptr, examples}, 1);
  EXPECT_NEAR(first, std::log(20), 0.7);  // of 20 tokens each about as likely
  EXPECT_LT(metric(last, "loss"), 0.05);
  EXPECT_EQ(metric(last, "tokens"), 8);
}

TEST_F(ModelNodes, FineTuningRefusesAnAggregateThatNeedsMaxNew) {
  const NodeId id = add("step", {{"aggregate", Word{"seq_mean_token_sum_norm"}}, {"epochs", std::int64_t{1}}});
  EXPECT_THAT([&] { make_update_sft_node(plan_, id); }, ThrowsMessage<std::runtime_error>(HasSubstr("no max_new")));
}

std::shared_ptr<Pairs> two_pairs() {
  auto pairs = std::make_shared<Pairs>();
  auto batch = std::make_shared<BatchDescriptor>();
  const std::vector<std::vector<std::int32_t>> responses = {{4, 2}, {5, 6, 2}, {7, 7, 7, 2}, {2}};
  for (std::int32_t i = 0; i < 2; ++i) {
    pairs->prompts.push_row(std::vector<std::int32_t>{1, 3 + i, 16});
    pairs->source_row.push_back(i);
  }
  for (std::size_t i = 0; i < responses.size(); ++i) {
    pairs->tokens.insert(pairs->tokens.end(), responses[i].begin(), responses[i].end());
    batch->group.push_back(static_cast<std::int32_t>(i / 2));
    batch->offsets.push_back(static_cast<std::int64_t>(pairs->tokens.size()));
    batch->mask.insert(batch->mask.end(), responses[i].size(), 1);
    batch->finish.push_back(0);
  }
  pairs->batch = batch;
  return pairs;
}

TEST_F(ModelNodes, PreferencesStartAtLnTwoAndAreLearnt) {
  const auto policy = model(3e-3), cut = model(3e-3);
  const auto pairs = two_pairs();
  const NodeId reading = add("refl", {});
  const TaskResult reference = run(*make_logprob_node(plan_, reading), *policy, {nullptr, pairs});
  Attributes settings = {{"loss", Word{"dpo"}}, {"beta", 0.1}, {"epochs", std::int64_t{1}}};
  const auto node = make_update_pairs_node(plan_, add("step", settings));
  settings["micro"] = Quantity{5, Unit::tokens};
  const auto cut_node = make_update_pairs_node(plan_, add("cut", settings));
  const TaskResult first = run(*node, *policy, {nullptr, pairs, reference.outputs[0]}, 1);
  const TaskResult first_cut = run(*cut_node, *cut, {nullptr, pairs, reference.outputs[0]}, 1);
  EXPECT_NEAR(metric(first, "loss"), std::log(2), 1e-6);  // the policy is the reference
  EXPECT_EQ(metric(first, "margin"), 0);
  EXPECT_EQ(metric(first, "tokens"), 10);
  EXPECT_NEAR(metric(first_cut, "grad_norm"), metric(first, "grad_norm"), 1e-5);
  TaskResult last;
  for (int i = 0; i < 30; ++i) last = run(*node, *policy, {nullptr, pairs, reference.outputs[0]}, 1);
  EXPECT_LT(metric(last, "loss"), 0.4);
  EXPECT_EQ(metric(last, "accuracy"), 1);
  EXPECT_GT(metric(last, "reward/chosen"), metric(last, "reward/rejected"));
  EXPECT_NEAR(metric(last, "margin"), metric(last, "reward/chosen") - metric(last, "reward/rejected"), 1e-5);
}

TEST_F(ModelNodes, AnEvaluationAsksEveryRow) {
  PlanData data;
  data.name = "test";
  data.source = "builtin";
  data.argument = "addition";
  data.settings = {{"digits", Range{2, 3}},    {"seed", std::int64_t{2}}, {"split", Word{"test"}},
                   {"size", std::int64_t{20}}, {"worked", 0.25},          {"forget_carry", 0.8},
                   {"shuffle", false}};
  plan_.data.push_back(data);
  PlanReward reward;
  reward.name = "exact";
  reward.source = "builtin";
  reward.argument = "exact_answer";
  plan_.rewards.push_back(reward);
  const NodeId id =
      add("acc",
          {{"n", std::int64_t{2}}, {"temperature", 1.0}, {"max_new", std::int64_t{8}}, {"workers", std::int64_t{1}}});
  plan_.nodes.back().data = DataId(0);
  plan_.nodes.back().reward = RewardId(0);
  const auto policy = model();
  const TaskResult result = run(*make_evaluate_node(plan_, id, {}), *policy, {nullptr});
  EXPECT_EQ(result.samples.size(), 3u);
  EXPECT_LT(metric(result, "accuracy"), 0.1);  // random weights do not add
  EXPECT_LE(metric(result, "response_length/mean"), 8);
  const auto& metrics = dynamic_cast<const Metrics&>(*result.outputs.at(0));
  EXPECT_EQ(metrics.values.front().first, "accuracy");
}

}  // namespace
}  // namespace rlflow
