// Do two hundred tasks, drawn from real runs, prove themselves, and does no altered bit of what they read stay unseen?
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/end_to_end/replay_in_process.h"
#include "tests/end_to_end/run_inspection.h"
#include "tests/support/test_size.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

// A project with a copy of the tiny model, one run of GRPO with a KL term and one of PPO with a critic, made once.
class ManyReplays : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    project_ = new ScratchFolder("replays");
    fs::create_directory(project_->path() + "/models");
    fs::copy(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny", project_->path() + "/models/tiny",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    write_file(project_->path() + "/rlflow.toml", "");
    begin("grpo", read_file(std::string(RLFLOW_SOURCE_DIR) + "/pipelines/tiny_grpo.rlflow"),
          {"steps=30", "kl=0.02", "batch.count=4", "traj.n=4"});
    begin("lora", read_file(std::string(RLFLOW_SOURCE_DIR) + "/pipelines/lora_grpo.rlflow"),
          {"steps=14", "kl=0.02", "batch.count=4", "traj.n=4"});
    begin("ppo", rlflow({"new", "ppo"}).out,
          {"steps=14", "batch.count=8", "vstep.minibatch=4 seqs", "pstep.minibatch=4 seqs"});
  }
  static void TearDownTestSuite() { delete project_; }
  // A checkpoint each 4 steps, all kept: a replay redoes up to three updates first.
  static void begin(const std::string& name, std::string program, std::vector<std::string> settings) {
    const std::string rare = "every 25 steps";
    ASSERT_NE(program.find(rare), std::string::npos);
    write_file(project_->path() + "/" + name + ".rlflow",
               program.replace(program.find(rare), rare.size(), "every 4 steps"));
    settings.insert(settings.end(), {"checkpoint.keep=9", "traj.max_new=16", "acc.max_new=16", "test.size=8"});
    std::vector<std::string> arguments = {
        "run", project_->path() + "/" + name + ".rlflow", "--plain", "--name", name, "--runs-dir", runs()};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"-s", setting});
    ProcessResult result = rlflow(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  }
  static std::string runs() { return project_->path() + "/runs"; }
  static std::string run(const std::string& name) { return runs() + "/" + name; }

  static ScratchFolder* project_;
};
ScratchFolder* ManyReplays::project_ = nullptr;

TEST_F(ManyReplays, OfTwoHundredDrawnTasksAreIdentical) {
  std::mt19937 random(20261202);
  std::map<std::string, int> by_op;
  int tried = 0, failed = 0;
  for (const auto& [name, count] : {std::pair<std::string, std::size_t>{"grpo", 120}, {"lora", 40}, {"ppo", 40}}) {
    Plan plan = plan_of(run(name));
    std::vector<DoneTask> tasks = done_tasks(run(name), plan);
    ASSERT_GE(tasks.size(), count);
    std::shuffle(tasks.begin(), tasks.end(), random);
    if (!long_size()) tasks.resize(count);
    for (const DoneTask& task : tasks) {
      std::string detail;
      Verdict verdict = replay(plan, run(name), task.name, detail);
      ++tried;
      ++by_op[task.op];
      failed += verdict == Verdict::identical ? 0 : 1;
      EXPECT_EQ(verdict, Verdict::identical) << task.name << ": " << detail;
    }
  }
  std::printf("replayed: %d tasks, %d not identical;", tried, failed);
  for (const auto& [op, count] : by_op) std::printf(" %s %d", op.c_str(), count);
  std::printf("\n");
  EXPECT_GE(tried, 200);
  for (const char* op : {"rollout", "logprob", "advantage", "update"}) EXPECT_GE(by_op[op], 15) << op;
}

// Files that a replay of the task must have read: its inputs and recorded outputs; of its model, if it is trained, the
// newest checkpoint at or before the version that it read, and the inputs of every update from there to it.
std::set<std::string> files_read(const std::string& run_dir, const DoneTask& task) {
  const std::string row = "(SELECT id FROM tasks WHERE node='" + task.node +
                          "' AND step=" + task.name.substr(task.name.find(':') + 1) + ")";
  const std::string from = "(SELECT max(c.version) FROM versions AS c, reads AS r WHERE r.task=" + row +
                           " AND c.model=r.model AND c.version<=r.version AND c.ckpt IS NOT NULL)";
  std::set<std::string> files;
  auto add = [&](const std::string& sql) {
    for (const auto& found : query(run_dir, sql)) {
      files.insert(run_dir + "/artifacts/" + found[0].substr(0, 2) + "/" + found[0]);
    }
  };
  add("SELECT lower(hex(digest)) FROM outputs WHERE task=" + row);
  add("SELECT lower(hex(digest)) FROM edges JOIN outputs ON task=src AND port=src_port WHERE dst=" + row);
  add("SELECT lower(hex(part)) FROM reads AS r JOIN versions AS v ON v.model=r.model AND v.version=" + from +
      " JOIN members ON manifest=ckpt WHERE r.task=" + row + " AND v.version>0 AND name LIKE r.model || '/%'");
  add("SELECT lower(hex(part)) FROM reads AS r JOIN versions AS v ON v.model=r.model AND v.version>" + from +
      " AND v.version<=r.version JOIN members ON manifest=batch WHERE r.task=" + row);
  return files;
}

void flip(const std::string& path, std::size_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  char byte = static_cast<char>(file.get() ^ (1 << bit % 8));
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(byte);
  ASSERT_TRUE(file.flush()) << path;
}

TEST_F(ManyReplays, WithOneAlteredBitOfAnyFileReadAreNeverIdentical) {
  std::mt19937 random(7);
  int tried = 0, unseen = 0;
  for (const std::string name : {"grpo", "ppo"}) {
    Plan plan = plan_of(run(name));
    std::set<std::string> seen_nodes;
    std::vector<DoneTask> tasks = done_tasks(run(name), plan);
    std::reverse(tasks.begin(), tasks.end());  // late ones have the most to read
    for (const DoneTask& task : tasks) {
      if (!seen_nodes.insert(task.node).second) continue;
      std::set<std::string> files = files_read(run(name), task);
      for (const char* file : {"model.safetensors", "config.json"}) {  // hashed at each replay, whatever the task
        files.insert(project_->path() + "/models/tiny/" + file);
      }
      std::vector<std::string> drawn(files.begin(), files.end());
      std::shuffle(drawn.begin(), drawn.end(), random);
      if (!long_size()) drawn.resize(std::min<std::size_t>(drawn.size(), 6));
      for (const std::string& file : drawn) {
        std::size_t bit = random() % (fs::file_size(file) * 8);
        flip(file, bit);
        std::string detail;
        Verdict verdict = replay(plan, run(name), task.name, detail);
        flip(file, bit);
        ++tried;
        unseen += verdict == Verdict::identical ? 1 : 0;
        EXPECT_NE(verdict, Verdict::identical) << task.name << " with bit " << bit << " of " << file << " altered";
        EXPECT_NE(detail, "") << "a reason is said";
      }
      std::string detail;
      ASSERT_EQ(replay(plan, run(name), task.name, detail), Verdict::identical) << task.name << ": " << detail;
    }
  }
  std::printf("altered bits: %d tried, %d not seen\n", tried, unseen);
  EXPECT_GE(tried, 50);
}

}  // namespace
}  // namespace rlflow::testing
