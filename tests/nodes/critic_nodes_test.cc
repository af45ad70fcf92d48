// Do the nodes of PPO with a critic compute what algorithms say: values, KL in the reward, gae, the critic's update?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nodes/batches.h"
#include "nodes/kl_reward_node.h"
#include "nodes/metric_inputs.h"
#include "nodes/model/cpu_model.h"
#include "nodes/token_advantage_node.h"
#include "nodes/token_reading_node.h"
#include "nodes/update_critic_node.h"

namespace rlflow {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

// Four responses of two prompts, masked as the golden vectors of the algorithms are: 1110 1111 1100 1011.
std::shared_ptr<Rollouts> golden_traj() {
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 1, 1};
  batch->offsets = {0, 4, 8, 12, 16};
  batch->mask = {1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1};
  batch->finish.assign(4, 0);
  auto prompts = std::make_shared<Prompts>();
  for (std::int32_t i = 0; i < 2; ++i) {
    prompts->tokens.push_row(std::vector<std::int32_t>{1, 3 + i, 13, 9 - i, 16});
    prompts->source_row.push_back(i);
    prompts->text.push_back("prompt");
    prompts->answer.push_back("answer");
  }
  auto traj = std::make_shared<Rollouts>();
  traj->batch = batch;
  traj->prompts = prompts;
  for (std::int32_t i = 0; i < 16; ++i) traj->tokens.push_back(3 + i % 10);
  traj->logprob.assign(16, -1.0f);
  return traj;
}

PayloadPtr numbers(Kind kind, const Rollouts& traj, std::vector<float> data) {
  const bool per_token = data.size() == traj.tokens.size();
  return std::make_shared<Numbers>(kind, traj.batch, per_token, std::move(data));
}

const std::vector<float>& data_of(const TaskResult& result, std::size_t output) {
  return dynamic_cast<const Numbers&>(*result.outputs.at(output)).data;
}

double metric(const TaskResult& result, const std::string& name) {
  for (const Metric& metric : result.metrics) {
    if (metric.name == name) return metric.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

class CriticNodes : public ::testing::Test {
 protected:
  CriticNodes() {
    plan_.groups.push_back({});
    plan_.groups[0].threads = 2;
    plan_.models.push_back({});
  }
  NodeId add(const Attributes& settings) {
    PlanNode node;
    node.name = "node";
    node.settings = settings;
    node.group = GroupId(0);
    node.model = ModelId(0);
    plan_.nodes.push_back(node);
    return NodeId(plan_.nodes.size() - 1);
  }
  static TaskResult run(Node& node, std::vector<PayloadPtr> payloads, CpuModel* model = nullptr) {
    TaskInputs inputs;
    inputs.payloads = std::move(payloads);
    inputs.model = model;
    TaskContext context;
    context.step = 1;
    context.version = 1;
    return node.run(inputs, context);
  }
  static std::unique_ptr<CpuModel> critic(double learning_rate = 1e-2) {
    auto result = CpuModel::draw(kTiny, 1, 2, Head::value);
    AdamWSettings settings;
    settings.schedule.peak = learning_rate;
    result->attach_optimizer(settings);
    return result;
  }
  std::vector<float> values_of(CpuModel& model, std::int64_t micro = 512) {
    const NodeId id = add({{"micro", Quantity{micro, Unit::tokens}}});
    return data_of(run(*make_value_node(plan_, id), {nullptr, traj_}, &model), 0);
  }
  TaskResult update(CpuModel& model, std::vector<float> returns, std::vector<float> old, Attributes settings = {}) {
    settings.insert({{"clip", 0.5}, {"aggregate", Word{"token_mean"}}, {"epochs", std::int64_t{1}}});
    const NodeId id = add(settings);
    return run(*make_update_critic_node(plan_, id),
               {nullptr, traj_, numbers(Kind::returns, *traj_, std::move(returns)),
                numbers(Kind::value, *traj_, std::move(old))},
               &model);
  }

  Plan plan_;
  std::shared_ptr<Rollouts> traj_ = golden_traj();
};

// algorithms, golden vectors: r, V, γ = 1, λ = 0.95. Masked tokens hold 9 and must reach nothing.
const std::vector<float> kReward = {0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.5f};
const std::vector<float> kValue = {.1f, .2f, .3f, 9, 0, .1f, .2f, .3f, .5f, .4f, 9, 9, .2f, 9, .1f, .4f};

TEST_F(CriticNodes, GaeOfTheGoldenVectors) {
  const NodeId id = add({{"estimator", Word{"gae"}}, {"gamma", 1.0}, {"lambda", 0.95}, {"whiten", false}});
  const TaskResult result = run(*make_value_advantage_node(plan_, id),
                                {numbers(Kind::reward, *traj_, kReward), numbers(Kind::value, *traj_, kValue)});
  const std::vector<float> raw = {.82675f, .765f, .7f, 0, .028038f, -.07575f, -.185f, -.3f,
                                  .47f,    .6f,   0,   0, .27525f,  0,        .395f,  .1f};
  EXPECT_THAT(data_of(result, 0), Pointwise(FloatNear(1e-6f), raw));
  EXPECT_NEAR(data_of(result, 1)[12], .47525, 1e-6);
  EXPECT_NEAR(data_of(result, 1)[15], .5, 1e-6);

  const NodeId whitened = add({{"estimator", Word{"gae"}}, {"gamma", 1.0}, {"lambda", 0.95}, {"whiten", true}});
  const TaskResult white = run(*make_value_advantage_node(plan_, whitened),
                               {numbers(Kind::reward, *traj_, kReward), numbers(Kind::value, *traj_, kValue)});
  EXPECT_NEAR(data_of(white, 0)[0], 1.367443, 1e-5);
  EXPECT_NEAR(data_of(white, 0)[15], -.518987, 1e-5);
  EXPECT_EQ(data_of(white, 0)[3], 0);
  EXPECT_EQ(data_of(white, 1), data_of(result, 1));  // returns come from the plain advantages
}

TEST_F(CriticNodes, ARewardOfAResponseStandsOnItsLastToken) {
  const NodeId id = add({{"estimator", Word{"gae"}}, {"gamma", 1.0}, {"lambda", 0.95}, {"whiten", false}});
  const auto sparse = run(*make_value_advantage_node(plan_, id),
                          {numbers(Kind::reward, *traj_, {1, 0, 1, 0.5f}), numbers(Kind::value, *traj_, kValue)});
  const auto dense = run(*make_value_advantage_node(plan_, id),
                         {numbers(Kind::reward, *traj_, kReward), numbers(Kind::value, *traj_, kValue)});
  EXPECT_EQ(data_of(sparse, 0), data_of(dense, 0));
}

TEST_F(CriticNodes, ReinforcePlusPlusOfTheGoldenVectors) {
  const NodeId id = add({{"estimator", Word{"reinforce_pp"}}, {"gamma", 0.9}});
  const TaskResult result = run(*make_token_advantage_node(plan_, id), {numbers(Kind::reward, *traj_, kReward)});
  EXPECT_NEAR(data_of(result, 0)[0], .747524, 1e-5);
  EXPECT_NEAR(data_of(result, 0)[2], 1.201414, 1e-5);
  EXPECT_NEAR(data_of(result, 0)[5], -1.187479, 1e-5);
}

// k1 of ℓ − ℓ_ref = 0.5 on every token, β = 0.2: each token of the mask pays 0.1.
TEST_F(CriticNodes, TheKlIsTakenFromTheRewardTokenByToken) {
  std::vector<float> policy(16, -1.0f), reference(16, -1.5f);
  reference[3] = std::numeric_limits<float>::quiet_NaN();  // under the mask: reaches nothing
  const NodeId id = add({{"kind", Word{"k1"}}});
  const TaskResult result = run(*make_kl_penalty_node(plan_, id),
                                {numbers(Kind::reward, *traj_, {1, 0, 1, 0.5f}), numbers(Kind::logp, *traj_, policy),
                                 numbers(Kind::logp, *traj_, reference), std::make_shared<Scalar>(0.2)});
  const std::vector<float> expected = {-.1f, -.1f, .9f, 0, -.1f, -.1f, -.1f, -.1f, -.1f, .9f, 0, 0, -.1f, 0, -.1f, .4f};
  EXPECT_THAT(data_of(result, 0), Pointwise(FloatNear(1e-6f), expected));
  EXPECT_NEAR(dynamic_cast<const Scalar&>(*result.outputs.at(1)).value, 0.5, 1e-6);
  EXPECT_NEAR(metric(result, "kl"), 0.5, 1e-6);
}

TEST_F(CriticNodes, AKlThatIsNotFiniteStops) {
  std::vector<float> policy(16, -1.0f), reference(16, -1.0f);
  reference[0] = std::numeric_limits<float>::quiet_NaN();
  const NodeId id = add({{"kind", Word{"k1"}}});
  EXPECT_THROW(run(*make_kl_penalty_node(plan_, id),
                   {numbers(Kind::reward, *traj_, {1, 0, 1, 0}), numbers(Kind::logp, *traj_, policy),
                    numbers(Kind::logp, *traj_, reference), std::make_shared<Scalar>(0.2)}),
               NumericsError);
}

// take(…, 8) -> rollout(n=4) -> logprob -> kl_penalty; B = 32, horizon 100: β·(1 + clip(k̄/0.1 − 1, ±0.2)·0.32).
TEST_F(CriticNodes, TheCoefficientFollowsTheKl) {
  const NodeId take = add({}), rollout = add({}), logprob = add({}), penalty = add({});
  plan_.nodes[take.index()].constants = {{"count", std::int64_t{8}}};
  plan_.nodes[rollout.index()].constants = {{"n", std::int64_t{4}}};
  const auto reads = [&](NodeId node, NodeId from) {
    plan_.nodes[node.index()].inputs.emplace_back();
    plan_.nodes[node.index()].inputs.back().node = from;
  };
  reads(rollout, take);
  reads(logprob, rollout);
  reads(penalty, logprob);
  const NodeId adapt = add({{"target", 0.1}, {"horizon", std::int64_t{100}}});
  reads(adapt, adapt);  // prev(coef)
  reads(adapt, penalty);
  reads(penalty, adapt);
  const auto node = make_adapt_kl_node(plan_, adapt);
  const auto adapted = [&](double kl) {
    const TaskResult result = run(*node, {std::make_shared<Scalar>(0.05), std::make_shared<Scalar>(kl)});
    return dynamic_cast<const Scalar&>(*result.outputs.at(0)).value;
  };
  EXPECT_DOUBLE_EQ(adapted(0.1), 0.05);
  EXPECT_DOUBLE_EQ(adapted(0.11), 0.05 * (1 + 0.1 * 0.32));
  EXPECT_DOUBLE_EQ(adapted(5.0), 0.05 * (1 + 0.2 * 0.32));
  EXPECT_DOUBLE_EQ(adapted(0.0), 0.05 * (1 - 0.2 * 0.32));
}

// Gives back the first number it is given.
class Echo final : public Node {
 public:
  TaskResult run(const TaskInputs& inputs, const TaskContext&) override {
    TaskResult result;
    result.outputs = {inputs.payloads.at(0)};
    return result;
  }
};

TEST_F(CriticNodes, AMetricIsTakenOutOfItsUpdate) {
  const NodeId update = add({}), reader = add({});
  plan_.nodes[update.index()].name = "step";
  PlanInput input;
  input.node = update;
  input.metric = "kl";
  plan_.nodes[reader.index()].inputs = {input};
  const auto node = with_metric_inputs(std::make_unique<Echo>(), plan_, reader);
  const auto metrics = std::make_shared<Metrics>();
  metrics->values = {{"entropy", 7.0}, {"kl", 0.25}};
  EXPECT_EQ(dynamic_cast<const Scalar&>(*run(*node, {metrics}).outputs.at(0)).value, 0.25);
  EXPECT_EQ(dynamic_cast<const Scalar&>(*run(*node, {std::make_shared<Scalar>(0.5)}).outputs.at(0)).value, 0.5);
  metrics->values[1].second = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(run(*node, {metrics}), NumericsError);
  metrics->values.pop_back();
  EXPECT_THAT([&] { run(*node, {metrics}); },
              ::testing::ThrowsMessage<std::runtime_error>("`step.kl` was not reported in this step"));
}

TEST_F(CriticNodes, ACriticOfABaseWithoutOneStartsAtZero) {
  const auto model = CpuModel::load_folder(kTiny, 2, Head::value);
  EXPECT_EQ(model->layout().size, 198464 + 64);
  EXPECT_EQ(model->layout().slots.back().name, "score.weight");
  EXPECT_THAT(values_of(*model), Each(0.0f));
}

TEST_F(CriticNodes, ValuesDoNotDependOnMicro) {
  const auto model = critic();
  const std::vector<float> whole = values_of(*model);
  EXPECT_EQ(values_of(*model, 9), whole);
  EXPECT_NE(whole[0], whole[5]);
}

// The loss is a function of the weights, so its slope along the gradient is the gradient's square.
TEST_F(CriticNodes, TheGradientIsTheSlopeOfTheLoss) {
  const std::vector<float> returns(16, 0.7f);
  const auto model = critic(1e-6);
  const std::vector<float> old = values_of(*model);
  const double before = metric(update(*model, returns, old, {{"clip", 1e6}}), "loss");
  double by_hand = 0;
  for (std::size_t t = 0; t < 16; ++t) {
    if (traj_->batch->mask[t]) by_hand += 0.5 * (old[t] - 0.7) * (old[t] - 0.7) / 12;  // 12 tokens are not masked
  }
  EXPECT_NEAR(before, by_hand, 1e-5);
  // 200 steps of AdamW towards constant returns: the values arrive.
  const auto learner = critic(3e-3);
  for (int i = 0; i < 200; ++i) update(*learner, returns, values_of(*learner));
  const std::vector<float> learnt = values_of(*learner);
  for (std::size_t t = 0; t < 16; ++t) {
    if (traj_->batch->mask[t] == 1) {
      EXPECT_NEAR(learnt[t], 0.7, 0.05) << t;
    }
  }
}

TEST_F(CriticNodes, TheUpdateDoesNotDependOnMicroForAnyAggregate) {
  plan_.nodes.clear();
  const NodeId rollout = add({{"max_new", std::int64_t{4}}});
  const std::vector<float> returns = kReward;
  for (const char* aggregate :
       {"token_mean", "token_sum", "seq_mean_token_sum", "seq_mean_token_mean", "seq_mean_token_sum_norm"}) {
    const auto one = critic(), other = critic();
    const auto step = [&](CpuModel& model, std::int64_t micro) {
      const NodeId id = add({{"clip", 0.5},
                             {"aggregate", Word{aggregate}},
                             {"epochs", std::int64_t{1}},
                             {"micro", Quantity{micro, Unit::tokens}}});
      plan_.nodes[id.index()].inputs.resize(4);
      plan_.nodes[id.index()].inputs[1].node = rollout;
      return run(*make_update_critic_node(plan_, id),
                 {nullptr, traj_, numbers(Kind::returns, *traj_, returns), numbers(Kind::value, *traj_, kValue)},
                 &model);
    };
    const TaskResult whole = step(*one, 512), cut = step(*other, 9);
    for (const char* name : {"loss", "grad_norm", "clipfrac"})
      EXPECT_NEAR(metric(whole, name), metric(cut, name), 1e-5 * (1 + std::abs(metric(whole, name)))) << aggregate;
    EXPECT_GT(metric(whole, "grad_norm"), 1e-4);
  }
}

TEST_F(CriticNodes, ACriticIsSavedAndLoadedWithItsHead) {
  const auto model = critic();
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "rlflow_critic";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  model->export_folder(folder);
  const auto again = CpuModel::load_folder(folder, 1, Head::value);
  EXPECT_TRUE(again->weights_digest() == model->weights_digest());
  EXPECT_THAT([&] { CpuModel::load_folder(folder, 1); },
              ::testing::ThrowsMessage<FormatError>(::testing::HasSubstr("score.weight")));
  EXPECT_THAT([&] { CpuModel::load_folder(kTiny, 1, Head::reward); },
              ::testing::ThrowsMessage<FormatError>(::testing::HasSubstr("score.weight")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rlflow
