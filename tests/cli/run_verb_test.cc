// Does `run` refuse, before it makes anything, a program that cannot run?
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

TEST(RunVerb, AMissingModelFolderIsAnErrorAtItsPath) {
  ScratchFolder folder("run-missing");
  write_file(folder.path() + "/p.rlflow", kTinyProgram);
  EXPECT_EQ(rlflow({"check", "p.rlflow"}, folder.path()).exit_code, 0);
  ProcessResult result = rlflow({"run", "p.rlflow", "--runs-dir", "runs"}, folder.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0603]: there is no model folder `models/tiny`\n --> p.rlflow:4:21\n"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find(folder.path() + "/models/tiny"), std::string::npos)
      << "the path that was tried is not told";
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/runs"));
}

TEST(RunVerb, AWrongProgramMakesNoRun) {
  ScratchFolder folder("run-wrong");
  write_file(folder.path() + "/p.rlflow", spoilt("n=2", "n=1"));
  EXPECT_EQ(rlflow({"run", "p.rlflow", "--runs-dir", "runs"}, folder.path()).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/runs"));
}

// A model of 3.5 x 10^13 parameters, half a petabyte to train, fits no machine, so the test needs none in particular.
// It is refused before its weights are drawn.
TEST(RunVerb, AModelLargerThanAnyMachineIsRefused) {
  ScratchFolder folder("run-too-large");
  std::filesystem::create_directories(folder.path() + "/models/huge");
  std::filesystem::copy_file(RLFLOW_SOURCE_DIR "/models/tiny/tokenizer.json",
                             folder.path() + "/models/huge/tokenizer.json");
  write_file(folder.path() + "/models/huge/config.json",
             R"({"model_type": "llama", "vocab_size": 20, "hidden_size": 65536, "intermediate_size": 262144,
                 "num_hidden_layers": 512, "num_attention_heads": 512, "num_key_value_heads": 512, "head_dim": 128,
                 "max_position_embeddings": 64, "tie_word_embeddings": true, "hidden_act": "silu", "rms_norm_eps": 1e-05,
                 "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0})");
  write_file(folder.path() + "/p.rlflow", R"(rlflow 1
group here = cpu { threads = 1 }
model policy = init("models/huge", seed=1) on here { trainable, optim = adamw(lr=1e-4) }
data sums = builtin("addition") { digits = 2..3 }
flow sft {
  batch = take_examples(sums, 4)
  step = update(policy, batch) { loss = sft }
  stop after 1
}
)");
  ProcessResult result = rlflow({"run", "p.rlflow", "--runs-dir", "runs"}, folder.path());
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("error[E0513]: the host needs "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" TiB too much"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("weights "), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/runs"));
}

TEST(RunVerb, AnUnreadableProgramExitsTwo) {
  ScratchFolder folder("run-absent");
  EXPECT_EQ(rlflow({"run", "absent.rlflow"}, folder.path()).exit_code, 2);
}

TEST(RunVerb, ANameWithASlashIsRefused) {
  ScratchFolder folder("run-name");
  write_file(folder.path() + "/p.rlflow", kTinyProgram);
  ProcessResult result = rlflow({"run", "p.rlflow", "--name", "a/b"}, folder.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("slash"), std::string::npos) << result.err;
}

// `rlflow new` promises programs that run: one step of each, with the pairs that dpo asks for.
TEST(RunVerb, EachNewProgramRuns) {
  ScratchFolder folder("run-new");
  write_file(folder.path() + "/rlflow.toml", "");
  std::filesystem::create_symlink(std::string(RLFLOW_SOURCE_DIR) + "/models", folder.path() + "/models");
  std::filesystem::create_directory(folder.path() + "/data");
  write_file(folder.path() + "/data/pairs.jsonl",
             R"({"prompt": "17+25=", "chosen": "<7+5=12 1+2+1=4>42", "rejected": "32"})"
             "\n"
             R"({"prompt": "21+13=", "chosen": "34", "rejected": "33"})"
             "\n");
  for (const char* kind : {"grpo", "ppo", "sft", "dpo"}) {
    const std::string file = std::string(kind) + ".rlflow";
    ASSERT_EQ(rlflow({"new", kind, "-o", file}, folder.path()).exit_code, 0);
    ProcessResult result = rlflow({"run", file, "--plain", "-s", "steps=1"}, folder.path());
    EXPECT_EQ(result.exit_code, 0) << kind << "\n" << result.out << result.err;
    EXPECT_NE(result.out.find("1 of 1 step"), std::string::npos) << kind << "\n" << result.out;
  }
}

// The counterpart of the test that the other verbs map no torch: it would show here if the loader were silent.
TEST(RunVerb, OpensTheRunLibrary) {
  ScratchFolder folder("run-maps");
  write_file(folder.path() + "/p.rlflow", kTinyProgram);
  ProcessResult result = rlflow({"run", "p.rlflow"}, folder.path(), "", {{"LD_DEBUG", "files"}});
  EXPECT_NE(result.err.find("librlflow_run"), std::string::npos);
  EXPECT_NE(result.err.find("libtorch_cpu"), std::string::npos);
}

}  // namespace
}  // namespace rlflow::testing
