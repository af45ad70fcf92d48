// Does score make of responses what a person would make of them: rewards, metrics, retries, dropped and early groups?
#include "nodes/score_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "nodes/batches.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;

Tokenizer tiny_tokenizer() { return read_tokenizer(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny"); }

template <class T>
const T& output(const TaskResult& result, std::size_t port) {
  return dynamic_cast<const T&>(*result.outputs.at(port));
}

// Responses to the prompts "10+20=" (answer 30) and "12+13=" (answer 25), two each.
std::shared_ptr<Rollouts> four_responses(const std::vector<std::string>& texts, std::vector<std::uint8_t> finish) {
  const Tokenizer tokenizer = tiny_tokenizer();
  auto prompts = std::make_shared<Prompts>();
  prompts->text = {"10+20=", "12+13="};
  prompts->answer = {"30", "25"};
  prompts->source_row = {0, 1};
  for (const std::string& text : prompts->text) prompts->tokens.push_row(tokenizer.encode(text));
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 1, 1};
  batch->finish = std::move(finish);
  auto traj = std::make_shared<Rollouts>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<std::int32_t> ids = tokenizer.encode(texts[i]);
    if (batch->finish[i] == static_cast<std::uint8_t>(FinishReason::end)) ids.push_back(tokenizer.eos());
    traj->tokens.insert(traj->tokens.end(), ids.begin(), ids.end());
    batch->offsets.push_back(static_cast<std::int64_t>(traj->tokens.size()));
  }
  batch->mask.assign(traj->tokens.size(), 1);
  traj->logprob.assign(traj->tokens.size(), -1.0f);
  traj->batch = batch;
  traj->prompts = prompts;
  return traj;
}

TaskInputs scored(std::shared_ptr<Rollouts> traj) {
  TaskInputs inputs;
  inputs.payloads = {nullptr, std::move(traj)};
  return inputs;
}

std::unique_ptr<Node> exact_score() {
  Plan plan;
  plan.root = RLFLOW_SOURCE_DIR;
  PlanModel model;
  model.path = "models/tiny";
  plan.models.push_back(model);
  plan.nodes.resize(1);
  plan.nodes[0].tokenizer = ModelId(0);
  PlanReward reward;
  reward.name = "exact";
  reward.source = "builtin";
  reward.argument = "exact_answer";
  plan.rewards.push_back(reward);
  plan.nodes[0].reward = RewardId(0);
  plan.nodes[0].settings = {{"workers", std::int64_t{1}}};
  return make_score_node(plan, NodeId(0), {});
}

double metric(const TaskResult& result, const std::string& name) {
  for (const Metric& m : result.metrics) {
    if (m.name == name) return m.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// Rewards 1, 0 | 0, 0: mean 1/4, squares (9 + 3·1)/16 = 3/4, deviation √(3/4 ÷ 3) = 1/2; one group of two is uniform.
TEST(Score, JudgesEachResponseAndReports) {
  const TaskResult result = exact_score()->run(scored(four_responses({"30", "30", "24", ""}, {0, 1, 0, 0})), {});
  const auto& rewards = output<Numbers>(result, 0);
  EXPECT_EQ(rewards.kind(), Kind::reward);
  EXPECT_FALSE(rewards.per_token);
  EXPECT_EQ(rewards.data, (std::vector<float>{1, 0, 0, 0}));  // the second was cut off
  EXPECT_DOUBLE_EQ(metric(result, "reward/mean"), 0.25);
  EXPECT_DOUBLE_EQ(metric(result, "reward/std"), 0.5);
  EXPECT_DOUBLE_EQ(metric(result, "frac_reward_zero_std"), 0.5);
  ASSERT_FALSE(result.samples.empty());
  EXPECT_EQ(result.samples[0].prompt, "10+20=");
  EXPECT_EQ(result.samples[0].response, "30");
  EXPECT_EQ(result.samples[0].reward, 1.0);
}

// A judge that counts whom it judges, and fails each once.
class CountingReward final : public Reward {
 public:
  explicit CountingReward(int& judged) : judged_(judged) {}
  Judgement judge(std::span<const RewardRequest> requests, const Judging&) override {
    Judgement judgement;
    for (const RewardRequest& request : requests) {
      ++judged_;
      judgement.verdicts.push_back({VerdictKind::ok, static_cast<double>(request.response.size()), {}});
    }
    judgement.errors = static_cast<std::int64_t>(requests.size());
    judgement.warnings.push_back("slow today");
    return judgement;
  }
  bool external() const override { return true; }

 private:
  int& judged_;
};

// Group 1 was judged while group 0 was generated: it is not judged again, and its failures count.
TEST(Score, AGroupJudgedEarlyIsNotJudgedAgain) {
  int judged = 0;
  std::unique_ptr<Node> score =
      make_score_node({.reward = "counting"}, std::make_unique<CountingReward>(judged), tiny_tokenizer(), nullptr);
  ASSERT_TRUE(score->works_by_group());
  const TaskResult whole = score->run(scored(four_responses({"3", "30", "240", "2"}, {0, 0, 0, 0})), {});
  EXPECT_EQ(judged, 4);

  auto group = four_responses({"240", "2"}, {0, 0});
  auto batch = std::make_shared<BatchDescriptor>(*group->batch);
  batch->group = {1, 1};
  group->batch = batch;
  TaskInputs inputs = scored(four_responses({"3", "30", "240", "2"}, {0, 0, 0, 0}));
  inputs.early = {nullptr, std::make_shared<TaskResult>(score->run(scored(group), {}))};
  EXPECT_EQ(judged, 6);
  const TaskResult streamed = score->run(inputs, {});
  EXPECT_EQ(judged, 8);  // group 0 alone
  EXPECT_EQ(output<Numbers>(streamed, 0).data, (std::vector<float>{1, 2, 3, 1}));
  EXPECT_EQ(output<Numbers>(streamed, 0).data, output<Numbers>(whole, 0).data);
  for (const char* name : {"reward/mean", "reward/std", "reward/errors", "reward/timeouts"}) {
    EXPECT_EQ(metric(streamed, name), metric(whole, name)) << name;
  }
}

// A judge without a reward for one text.
class PickyReward final : public Reward {
 public:
  explicit PickyReward(std::string refused) : refused_(std::move(refused)) {}
  Judgement judge(std::span<const RewardRequest> requests, const Judging&) override {
    Judgement judgement;
    for (const RewardRequest& request : requests) {
      const bool judged = request.response != refused_;
      judgement.verdicts.push_back(judged ? verdict_of(static_cast<double>(request.response.size()))
                                          : no_verdict("unreadable"));
    }
    return judgement;
  }
  bool external() const override { return true; }

 private:
  std::string refused_;
};

TaskResult picky_score(const std::string& refused, bool drop_groups) {
  ScoreSettings settings{.reward = "picky"};
  settings.drop_groups = drop_groups;
  std::unique_ptr<Node> score =
      make_score_node(settings, std::make_unique<PickyReward>(refused), tiny_tokenizer(), nullptr);
  TaskContext context;
  context.step = 7;
  return score->run(scored(four_responses({"3", "30", "240", "2"}, {0, 0, 0, 0})), context);
}

TEST(Score, AGroupWithoutARewardIsDroppedWhenAskedFor) {
  const TaskResult result = picky_score("30", true);
  const auto& rewards = output<Numbers>(result, 0);
  EXPECT_EQ(rewards.data, (std::vector<float>{3, 1}));
  EXPECT_EQ(rewards.batch->group, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(rewards.batch->offsets, (std::vector<std::int64_t>{0, 4, 6}));  // a token a character, and the end
  EXPECT_EQ(metric(result, "reward/mean"), 2);
  EXPECT_EQ(metric(result, "reward/dropped"), 1);
  EXPECT_EQ(result.decisions.at("dropped"), "0");
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(result.warnings[0],
            "reward `picky`, step 7 goes on without group 0: response 1: unreadable; the prompt was `10+20=`, the "
            "response `30`");
  ASSERT_FALSE(result.samples.empty());
  EXPECT_EQ(result.samples[0].response, "240");
  EXPECT_EQ(metric(picky_score("nobody says this", true), "reward/dropped"), 0);
}

TEST(Score, WithoutBeingAskedNothingIsDropped) { EXPECT_THROW(picky_score("30", false), std::runtime_error); }

TEST(Score, ABatchOfWhichNothingIsLeftFails) {
  ScoreSettings settings{.reward = "picky"};
  settings.drop_groups = true;
  std::unique_ptr<Node> score =
      make_score_node(settings, std::make_unique<PickyReward>("3"), tiny_tokenizer(), nullptr);
  EXPECT_THROW(score->run(scored(four_responses({"3", "30", "3", "2"}, {0, 0, 0, 0})), {}), std::runtime_error);
}

TEST(Score, AMissingAnswerFailsTheTaskNamingTheResponse) {
  std::shared_ptr<Rollouts> traj = four_responses({"30", "30", "24", "25"}, {0, 0, 0, 0});
  auto prompts = std::make_shared<Prompts>(*traj->prompts);
  prompts->answer[1] = "";
  traj->prompts = prompts;
  try {
    exact_score()->run(scored(traj), {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("reward `exact`, response 2"));
    EXPECT_THAT(error.what(), HasSubstr("no answer"));
  }
}

TEST(Score, ATokenThatTheTokenizerLacksFailsTheTask) {
  std::shared_ptr<Rollouts> traj = four_responses({"30", "30", "24", "25"}, {0, 0, 0, 0});
  traj->tokens[0] = 20;  // models/tiny has 0..19
  try {
    exact_score()->run(scored(traj), {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("response 0: token 20"));
  }
}

// Fails `failures` times on the response "24", then gives 0.5.
struct Moody final : FunctionReward {
  explicit Moody(int f) : failures(f) {}
  RewardVerdict verdict(const RewardRequest& request) const override {
    ++asked;
    if (request.response == "24" && failed++ < failures) return no_verdict("no verdict today");
    return verdict_of(0.5);
  }
  int failures;
  mutable int failed = 0;
  mutable int asked = 0;
};

TEST(Score, RetriesOneResponseAndNoOther) {
  for (int failures : {2, 3}) {
    auto reward = std::make_unique<Moody>(failures);
    const Moody& judge = *reward;
    std::unique_ptr<Node> score =
        make_score_node({.reward = "moody", .retry = 2}, std::move(reward), tiny_tokenizer(), nullptr);
    const TaskInputs inputs = scored(four_responses({"30", "30", "24", "25"}, {0, 0, 0, 0}));
    if (failures == 2) {
      const TaskResult result = score->run(inputs, {});
      EXPECT_EQ(output<Numbers>(result, 0).data, (std::vector<float>{0.5, 0.5, 0.5, 0.5}));
      EXPECT_EQ(judge.asked, 6);
    } else {
      EXPECT_THROW(score->run(inputs, {}), std::runtime_error);
      EXPECT_EQ(judge.asked, 6);  // the other three, and three times the one
    }
  }
}

}  // namespace
}  // namespace rlflow
