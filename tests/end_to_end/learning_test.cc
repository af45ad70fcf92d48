// Does the demonstration learn: accuracy at temperature 1 from at most 0.50 to at least 0.90 in 100 steps?
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

class Learning : public ::testing::TestWithParam<int> {};

TEST_P(Learning, ShowingItsWorkPays) {
  ScratchFolder runs("learning-" + std::to_string(GetParam()));
  ProcessResult result = rlflow({"run", "pipelines/tiny_grpo.rlflow", "--plain", "--runs-dir", runs.path(), "--name",
                                 "r", "--seed", std::to_string(GetParam()), "-s", "test.size=512"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  std::string run = runs.path() + "/r";
  EXPECT_LE(metric(run, 0, "acc", "accuracy"), 0.50);
  EXPECT_GE(metric(run, 100, "acc", "accuracy"), 0.90);
  EXPECT_GE(metric(run, 100, "traj", "response_length/mean"), 18.0);  // from 8.5: it shows its work
}

TEST(LearningByAdapters, TheBaseStaysAndTheSumLearns) {
  ScratchFolder runs("learning-adapters");
  ProcessResult result = rlflow({"run", "pipelines/lora_grpo.rlflow", "--plain", "--runs-dir", runs.path(), "--name",
                                 "r", "-s", "steps=60", "-s", "test.size=512"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  std::string run = runs.path() + "/r";
  EXPECT_LE(metric(run, 0, "acc", "accuracy"), 0.50);
  EXPECT_GE(metric(run, 60, "acc", "accuracy"), 0.85);
  EXPECT_EQ(metric(run, 60, "step", "rollout_gap/max"), 0);
  // Its checkpoints hold the adapters, a fifth of what the model has, and so little is exported for PEFT.
  std::string folder = runs.path() + "/adapter";
  ProcessResult exported = rlflow({"export", "r", "--runs-dir", runs.path(), "--model", "policy", "-o", folder});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_LT(std::filesystem::file_size(folder + "/adapter_model.safetensors"), 200'000u);
  // Merged it is a model folder, whose answers are those of the run.
  std::string merged = runs.path() + "/merged";
  exported = rlflow({"export", "r", "--runs-dir", runs.path(), "--model", "policy", "--merged", "-o", merged});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const auto answer = [&](const std::string& model) {
    return rlflow({"generate", model, "--runs-dir", runs.path(), "-p", "347+586=", "--temperature", "0"}).out;
  };
  EXPECT_EQ(answer(merged), answer("r"));
  EXPECT_NE(answer(merged).find("933"), std::string::npos) << answer(merged);
}

// models/tiny is data that the repository holds and code that can make it: both must agree, to the bit.
TEST(TinyModel, IsWhatItsPipelineMakes) {
  ScratchFolder runs("tiny-sft");
  ProcessResult made =
      rlflow({"run", "pipelines/tiny_sft.rlflow", "--plain", "--runs-dir", runs.path(), "--name", "sft"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::string folder = runs.path() + "/exported";
  ProcessResult exported = rlflow({"export", "sft", "--runs-dir", runs.path(), "--model", "policy", "-o", folder});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_TRUE(read_file(folder + "/model.safetensors") ==
              read_file(RLFLOW_SOURCE_DIR "/models/tiny/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Learning, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace rlflow::testing
