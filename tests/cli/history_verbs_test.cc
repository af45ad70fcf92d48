// What do `why`, `diff` and `resume --dry-run` tell of recorded runs?
#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class HistoryVerbs : public TinyRuns<HistoryVerbs> {
 public:
  static void make_runs() {
    must({"run", "p.rlflow", "--name", "one"});
    must({"run", "p.rlflow", "--name", "same"});
    must({"run", "p.rlflow", "--name", "cool", "-s", "traj.temperature=0.5"});
    must({"run", "p.rlflow", "--name", "seeded", "--seed", "9"});
  }
};

TEST_F(HistoryVerbs, WhyTellsInputsVersionAttemptsAndReaders) {
  json why = json_of(run({"why", "one", "step:2", "--json"}));
  EXPECT_EQ(why.at("format"), "rlflow.why/1");
  EXPECT_EQ(why.at("state"), "done");
  EXPECT_EQ(why.at("model").at("model"), "policy");
  EXPECT_EQ(why.at("model").at("version"), 1);
  std::vector<std::string> inputs;
  for (const json& input : why.at("inputs")) inputs.push_back(input.at("from"));
  EXPECT_EQ(inputs, (std::vector<std::string>{"traj:2", "adv:2"}));
  EXPECT_EQ(why.at("attempts").size(), 1u);
  EXPECT_EQ(json_of(run({"why", "one", "traj:2", "--json"})).at("read_by"), json({"r:2", "step:2"}));
  ProcessResult text = run({"why", "one", "r:2"});
  EXPECT_NE(text.out.find("traj of traj:2"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("read by  adv:2"), std::string::npos) << text.out;
}

TEST_F(HistoryVerbs, WhyOfATaskThatIsNoneExitsTwo) {
  EXPECT_EQ(run({"why", "one", "traj"}).exit_code, 2);
  EXPECT_EQ(run({"why", "one", "traj:9"}).exit_code, 2);
  ProcessResult misspelt = run({"why", "one", "trja:2"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_NE(misspelt.err.find("did you mean `traj`?"), std::string::npos) << misspelt.err;
}

TEST_F(HistoryVerbs, EqualRunsDoNotDiffer) {
  ProcessResult result = run({"diff", "one", "same", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  json diff = json_of(result);
  EXPECT_EQ(diff.at("format"), "rlflow.diff/1");
  EXPECT_EQ(diff.at("same"), true);
  EXPECT_EQ(diff.at("first_divergence"), nullptr);
  EXPECT_EQ(diff.at("compared_to_step"), 3);
}

TEST_F(HistoryVerbs, DiffNamesTheSettingTheTaskAndTheMetrics) {
  ProcessResult result = run({"diff", "one", "cool", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  json diff = json_of(result);
  ASSERT_EQ(diff.at("program").size(), 1u);
  EXPECT_EQ(diff.at("program")[0].at("address"), "traj.temperature");
  EXPECT_EQ(diff.at("program")[0].at("before"), "1");
  EXPECT_EQ(diff.at("program")[0].at("after"), "0.5");
  EXPECT_EQ(diff.at("first_divergence").at("task"), "traj:1");
  EXPECT_TRUE(diff.at("metrics").contains("step.loss"));
  EXPECT_NE(run({"diff", "one", "cool"}).out.find("traj.temperature: 1 -> 0.5"), std::string::npos);
}

TEST_F(HistoryVerbs, DiffNamesTheSeed) {
  json diff = json_of(run({"diff", "one", "seeded", "--json"}));
  EXPECT_EQ(diff.at("program"), json::array());
  ASSERT_EQ(diff.at("environment").size(), 1u);
  EXPECT_EQ(diff.at("environment")[0].at("address"), "seed");
  EXPECT_NE(diff.at("first_divergence").at("why").get<std::string>().find("the seeds differ"), std::string::npos);
}

TEST_F(HistoryVerbs, ADryResumeListsWhatStandsAndWhatIsLeft) {
  json preview = json_of(run({"resume", "one", "--dry-run", "-s", "stop=5", "--json"}));
  EXPECT_EQ(preview.at("format"), "rlflow.resume/1");
  EXPECT_EQ(preview.at("committed"), 3);
  EXPECT_EQ(preview.at("total"), 5);
  EXPECT_EQ(preview.at("models"), json::parse(R"([{"model": "policy", "checkpoint": 3, "head": 3}])"));
  EXPECT_NE(run({"resume", "one", "--dry-run"}).out.find("nothing is left to do"), std::string::npos);
}

// A run as a killed process leaves it: two tasks of step 3 done, one begun, its step not committed.
TEST_F(HistoryVerbs, ADryResumeOfAKilledRunNamesEachTaskAndResumeDoesAsItSays) {
  copy_run("one", "killed");
  open("killed").execute(
      "PRAGMA foreign_keys=OFF; DROP TRIGGER task_final; DELETE FROM steps WHERE step=3;"
      "DELETE FROM metrics WHERE step=3 AND node IN('r','adv','step'); DELETE FROM versions WHERE version=3;"
      "DELETE FROM heads; INSERT INTO heads VALUES('policy',2);"
      "DELETE FROM outputs WHERE task IN(SELECT id FROM tasks WHERE step=3 AND node IN('r','adv','step'));"
      "DELETE FROM reads WHERE task IN(SELECT id FROM tasks WHERE step=3 AND node='step');"
      "DELETE FROM edges WHERE dst IN(SELECT id FROM tasks WHERE step=3 AND node IN('r','adv','step'));"
      "DELETE FROM attempts WHERE task IN(SELECT id FROM tasks WHERE step=3 AND node IN('adv','step'));"
      "UPDATE attempts SET ended=NULL, ms=NULL WHERE task IN(SELECT id FROM tasks WHERE step=3 AND node='r');"
      "UPDATE tasks SET state='admitted', key=NULL WHERE step=3 AND node IN('r','adv','step');"
      "UPDATE run SET state='running'");
  json preview = json_of(run({"resume", "killed", "--dry-run", "--json"}));
  EXPECT_EQ(preview.at("state"), "interrupted");
  EXPECT_EQ(preview.at("models"), json::parse(R"([{"model": "policy", "checkpoint": 0, "head": 2}])"));
  std::map<std::string, std::string> fates;
  for (const json& task : preview.at("tasks")) {
    fates[task.at("task")] = task.at("fate").get<std::string>() + ": " + task.at("why").get<std::string>();
  }
  EXPECT_EQ(fates["batch:3"], "reuse: done, under the same key, its outputs are there");
  EXPECT_EQ(fates["traj:3"], "reuse: done, under the same key, its outputs are there");
  EXPECT_EQ(fates["r:3"], "redo: attempt 1 was lost with its process");
  EXPECT_EQ(fates["step:3"], "redo: it was admitted and never begun");
  must({"resume", "killed"});
  EXPECT_EQ(json_of(run({"show", "killed", "--task", "traj:3", "--json"})).at("task").at("attempts"), 1);
  EXPECT_EQ(json_of(run({"diff", "one", "killed", "--json"})).at("first_divergence"), nullptr);
  EXPECT_NE(run({"why", "killed", "r:3"}).out.find("attempt 1 (start 1) was lost with its process"), std::string::npos);
}

TEST_F(HistoryVerbs, ResumeSaysWhatAChangeWouldChange) {
  ProcessResult result = run({"resume", "one", "-s", "traj.temperature=0.5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("traj.temperature: 1 -> 0.5"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("fork"), std::string::npos) << result.err;
  ProcessResult unknown = run({"resume", "one", "-s", "traj.warmth=0.5"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("error[R0217]"), std::string::npos) << unknown.err;
}

TEST_F(HistoryVerbs, ResumeWithAFileComparesMeaningNotText) {
  write_file(path("reworded.rlflow"), kTinyProgram + "\n# nothing else\n");
  ProcessResult same = run({"resume", "one", "--with", "reworded.rlflow", "--dry-run"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_NE(same.err.find("means the same"), std::string::npos) << same.err;
  write_file(path("other.rlflow"), spoilt("estimator = grpo", "estimator = rloo"));
  ProcessResult other = run({"resume", "one", "--with", "other.rlflow"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("adv.estimator: grpo -> rloo"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("rlflow fork one --with other.rlflow"), std::string::npos) << other.err;
  EXPECT_EQ(run({"resume", "one", "--with", "absent.rlflow"}).exit_code, 2);
}

TEST_F(HistoryVerbs, RetryOfARunWithoutFailuresSaysSoAndResumes) {
  ProcessResult result = run({"retry", "one"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("no task failed"), std::string::npos) << result.err;
  EXPECT_EQ(run({"retry", "one", "--task", "traj:2"}).exit_code, 2);
}

}  // namespace
}  // namespace rlflow::testing
