// Does a run with a program of the user's as its judge learn the same, stop when it must, and go on?
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/end_to_end/run_inspection.h"

namespace rlflow::testing {
namespace {

// pipelines/tiny_exec_reward.rlflow in a project of its own, on a small batch; the judge is Debian's python3.
class ExecRewardRun : public ::testing::Test {
 protected:
  ExecRewardRun() {
    const std::string from = std::string(RLFLOW_SOURCE_DIR) + "/pipelines/tiny_exec_reward";
    write_file(folder_.path() + "/rlflow.toml", "");
    std::filesystem::create_directory(folder_.path() + "/pipelines");
    std::filesystem::copy(std::string(RLFLOW_SOURCE_DIR) + "/models", folder_.path() + "/models",
                          std::filesystem::copy_options::recursive);
    std::string program = read_file(from + ".rlflow");
    program.replace(program.find("python3 "), 8, "/usr/bin/python3 ");
    write_file(folder_.path() + "/judged.rlflow", program);
    judge_ = read_file(from + ".py");
    write_judge(judge_);
    write_file(path("pipelines/tiny_exec_reward.jsonl"), read_file(from + ".jsonl"));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write_judge(const std::string& text) const { write_file(path("pipelines/tiny_exec_reward.py"), text); }
  std::vector<std::string> run(const std::string& name, int steps) const {
    return {"run",
            path("judged.rlflow"),
            "--plain",
            "--name",
            name,
            "--runs-dir",
            path("runs"),
            "-s",
            "steps=" + std::to_string(steps),
            "-s",
            "batch.count=8",
            "-s",
            "traj.n=4",
            "-s",
            "test.size=16"};
  }
  ScratchFolder folder_{"exec_reward"};
  std::string judge_;
};

std::string said(const ProcessResult& result) { return result.out + result.err; }

bool says(const ProcessResult& result, const std::string& text) { return said(result).find(text) != std::string::npos; }

TEST_F(ExecRewardRun, LearnsTheSameBitsAsWithTheBuiltInJudge) {
  const ProcessResult own = rlflow(run("own", 4));
  ASSERT_EQ(own.exit_code, 0) << said(own);
  const ProcessResult built_in = rlflow(small_grpo(path("runs"), "built_in", 4));
  ASSERT_EQ(built_in.exit_code, 0) << said(built_in);
  const auto weights = weights_by_version(path("runs/own"), "policy");
  EXPECT_EQ(weights.size(), 5u);
  EXPECT_EQ(weights, weights_by_version(path("runs/built_in"), "policy"));
  EXPECT_EQ(metric(path("runs/own"), 4, "r", "reward/errors"), 0);
  EXPECT_EQ(metric(path("runs/own"), 4, "r", "reward/timeouts"), 0);

  ProcessResult again = rlflow({"replay", "own", "--task", "r:3", "--runs-dir", path("runs")});
  EXPECT_EQ(again.exit_code, 0) << said(again);
  EXPECT_TRUE(says(again, "r:3  identical")) << said(again);
  write_judge("from rlflow_reward import serve\nserve(lambda prompts, completions, **c: [0.5] * len(prompts))\n");
  again = rlflow({"replay", "own", "--task", "r:3", "--runs-dir", path("runs")});
  EXPECT_EQ(again.exit_code, 1) << said(again);
  EXPECT_TRUE(says(again, "r:3  differs (external): output 0 `r` differs")) << said(again);
}

TEST_F(ExecRewardRun, AKilledRunGoesOnWithTheSameBits) {
  const ProcessResult whole = rlflow(run("whole", 6));
  ASSERT_EQ(whole.exit_code, 0) << said(whole);
  ProcessOptions killed;
  killed.kill_when = "step 2/";
  killed.kill_after = std::chrono::microseconds(20'000);
  EXPECT_EQ(rlflow(run("killed", 6), killed).signal, SIGKILL);
  const ProcessResult resumed = rlflow({"resume", "killed", "--runs-dir", path("runs"), "-s", "r.workers=3"});
  ASSERT_EQ(resumed.exit_code, 0) << said(resumed);
  EXPECT_EQ(outputs_by_task(path("runs/killed")), outputs_by_task(path("runs/whole")));
}

TEST_F(ExecRewardRun, AFailingJudgeStopsTheRunAndAMendedOneGoesOn) {
  const std::string bad = "    if any('4' in text for text in completions): raise RuntimeError('no fours today')\n";
  std::string text = judge_;
  text.insert(text.find("    sums ="), bad);
  write_judge(text);
  std::vector<std::string> command = run("mended", 3);
  // Its examples hold fours too: without them it fails only when it judges.
  for (const char* more : {"-s", "mine.examples=pipelines/none.jsonl"}) command.push_back(more);
  write_file(path("pipelines/none.jsonl"), "{\"response\": \"1\", \"answer\": \"1\", \"reward\": 1}\n");
  const ProcessResult stopped = rlflow(command);
  EXPECT_EQ(stopped.exit_code, 3) << said(stopped);
  for (const char* part : {"R0101", "reward `mine`, response ", "RuntimeError: no fours today", "rlflow resume "}) {
    EXPECT_TRUE(says(stopped, part)) << part << "\n" << said(stopped);
  }
  EXPECT_EQ(query(path("runs/mended"), "SELECT count(*) FROM tasks WHERE node='r' AND state='done'")[0][0], "0");
  write_judge(judge_);
  const ProcessResult resumed = rlflow({"resume", "mended", "--runs-dir", path("runs")});
  EXPECT_EQ(resumed.exit_code, 0) << said(resumed);
  EXPECT_TRUE(says(resumed, "environment: reward mine, pipelines/tiny_exec_reward.py was")) << said(resumed);
}

// The judge fails for every response that holds a nine: the groups of these go, the others train, killed or not.
TEST_F(ExecRewardRun, GroupsThatCannotBeJudgedAreDroppedWhenAskedFor) {
  const std::string bad = "    if any('9' in text for text in completions): raise RuntimeError('no nines today')\n";
  std::string text = judge_;
  text.insert(text.find("    sums ="), bad);
  write_judge(text);
  write_file(path("pipelines/none.jsonl"), "{\"response\": \"1\", \"answer\": \"1\", \"reward\": 1}\n");
  std::string program = read_file(path("judged.rlflow"));
  const std::size_t evaluation = program.find("  every 25 steps");
  program.erase(evaluation, program.find('\n', evaluation) + 1 - evaluation);
  write_file(path("judged.rlflow"), program);
  const auto dropping = [&](const std::string& name, const std::string& policy) {
    std::vector<std::string> command = run(name, 3);
    for (const std::string& more : {std::string("-s"), std::string("mine.examples=pipelines/none.jsonl"),
                                    std::string("-s"), "r.on_failure=" + policy, std::string("-s"),
                                    std::string("r.retry=0"), std::string("-s"), std::string("mine.batch=1")}) {
      command.push_back(more);
    }
    return rlflow(command);
  };
  const ProcessResult whole = dropping("whole", "drop_group");
  // Too few prompts are left only if every group has a nine; the seed has others.
  ASSERT_EQ(whole.exit_code, 0) << said(whole);
  EXPECT_TRUE(says(whole, "goes on without group ")) << said(whole);
  EXPECT_TRUE(says(whole, "no nines today")) << said(whole);
  double dropped = 0;
  for (int step = 1; step <= 3; ++step) dropped += metric(path("runs/whole"), step, "r", "reward/dropped");
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(weights_by_version(path("runs/whole"), "policy").size(), 4u);
  const ProcessResult again = rlflow({"replay", "whole", "--task", "step:3", "--runs-dir", path("runs")});
  EXPECT_EQ(again.exit_code, 0) << said(again);
  EXPECT_EQ(dropping("paused", "pause").exit_code, 3);
}

TEST_F(ExecRewardRun, AWrongExampleIsToldByItsLineBeforeAnythingIsWritten) {
  write_file(path("pipelines/tiny_exec_reward.jsonl"),
             "{\"response\": \"1\", \"answer\": \"1\", \"reward\": 1}\n"
             "{\"response\": \"2\", \"answer\": \"1\", \"reward\": 1}\n");
  const ProcessResult result = rlflow(run("wrong", 1));
  EXPECT_EQ(result.exit_code, 1) << said(result);
  EXPECT_TRUE(says(result, "reward `mine`: pipelines/tiny_exec_reward.jsonl:2: the reward is 0, the example says 1"))
      << said(result);
  EXPECT_FALSE(std::filesystem::exists(path("runs/wrong")));
}

TEST_F(ExecRewardRun, AMissingScriptIsToldBeforeTheRun) {
  std::filesystem::remove(path("pipelines/tiny_exec_reward.py"));
  const ProcessResult result = rlflow(run("missing", 1));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(says(result, "error[E0607]: there is no program `pipelines/tiny_exec_reward.py`")) << said(result);
}

// Wherever in the project runs are kept, their judge does not read them.
TEST_F(ExecRewardRun, TheJudgeCannotReadTheFolderOfRuns) {
  const std::string look =
      "    import os\n"
      "    try: seen = open('kept/here/peek/state.db', 'rb').read(6)\n"
      "    except OSError as error: seen = type(error).__name__\n"
      "    if os.path.exists('models/tiny/config.json'): raise RuntimeError(f'seen: {seen}')\n";
  std::string text = judge_;
  text.insert(text.find("    sums ="), look);
  write_judge(text);
  write_file(path("judged.rlflow"), [&] {
    std::string program = read_file(path("judged.rlflow"));
    const std::string examples = ", examples = \"pipelines/tiny_exec_reward.jsonl\"";
    return program.erase(program.find(examples), examples.size());
  }());
  std::vector<std::string> command = run("peek", 1);
  *std::find(command.begin(), command.end(), path("runs")) = path("kept/here");
  const ProcessResult result = rlflow(command);
  EXPECT_EQ(result.exit_code, 3) << said(result);
  if (says(result, "basic sandbox") && says(result, "no Landlock")) GTEST_SKIP() << "no Landlock, no promise";
  EXPECT_TRUE(says(result, "seen: PermissionError") || says(result, "seen: FileNotFoundError")) << said(result);
}

// In a user namespace that allows no others, as in many containers.
TEST_F(ExecRewardRun, WithoutNamespacesItRunsInTheBasicSandboxAndSaysSoOnce) {
  const std::string limit = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
  std::vector<std::string> inside = {"unshare", "--user", "--map-root-user", "sh", "-c", limit, "sh"};
  std::vector<std::string> probe = inside;
  probe.push_back("true");
  if (run_process(probe).exit_code != 0) GTEST_SKIP() << "no user namespace can be made here to forbid others in";
  inside.push_back(std::string(RLFLOW_BINARY_DIR) + "/rlflow");
  std::vector<std::string> command = inside;
  for (const std::string& word : run("basic", 3)) command.push_back(word);
  const ProcessResult result = run_process(command);
  ASSERT_EQ(result.exit_code, 0) << said(result);
  const std::string warning = "reward `mine`: it runs in the basic sandbox";
  EXPECT_EQ(said(result).find(warning), said(result).rfind(warning)) << said(result);
  const std::string recorded = "SELECT count(*) FROM events WHERE kind='warning' AND data LIKE '%basic sandbox%'";
  EXPECT_EQ(query(path("runs/basic"), recorded)[0][0], "1") << said(result);

  const std::string full = "{ sandbox = full, batch";
  std::string program = read_file(path("judged.rlflow"));
  program.replace(program.find("{ batch"), 7, full);
  write_file(path("judged.rlflow"), program);
  command = inside;
  for (const std::string& word : run("full", 1)) command.push_back(word);
  const ProcessResult refused = run_process(command);
  EXPECT_EQ(refused.exit_code, 1) << said(refused);
  EXPECT_TRUE(says(refused, "`sandbox = full` is not possible here")) << said(refused);
}

}  // namespace
}  // namespace rlflow::testing
