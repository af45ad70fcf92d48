// What do the verbs that only read answer: graph, plan, params, explain, runs? And do they stay light?
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class Answers : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_.path() + "/p.rlflow", kTinyProgram); }
  ProcessResult run(const std::vector<std::string>& arguments, std::map<std::string, std::string> environment = {}) {
    return rlflow(arguments, folder_.path(), "", std::move(environment));
  }
  ScratchFolder folder_{"answers"};
};

TEST_F(Answers, GraphPrintsDot) {
  ProcessResult result = run({"graph", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("digraph \"grpo\"")) << result.out;
}

TEST_F(Answers, GraphWritesTheFormatOfTheName) {
  EXPECT_EQ(run({"graph", "p.rlflow", "-o", "p.svg"}).exit_code, 0);
  EXPECT_NE(read_file(folder_.path() + "/p.svg").find("<svg"), std::string::npos);
  EXPECT_EQ(run({"graph", "p.rlflow", "-o", "p.png"}).exit_code, 0);
  EXPECT_TRUE(read_file(folder_.path() + "/p.png").starts_with("\x89PNG"));
  EXPECT_EQ(run({"graph", "p.rlflow", "-o", "p.dot"}).exit_code, 0);
  EXPECT_EQ(read_file(folder_.path() + "/p.dot"), run({"graph", "p.rlflow"}).out);
}

TEST_F(Answers, GraphDrawsAWrongProgramAndExitsOne) {
  write_file(folder_.path() + "/wrong.rlflow", spoilt("advantage(r)", "advantage(traj)"));
  ProcessResult result = run({"graph", "wrong.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0301]"), std::string::npos) << result.err;
  for (const char* name : {"<b>traj</b>", "<b>✗ adv</b>", "<b>step</b>"}) {
    EXPECT_NE(result.out.find(name), std::string::npos) << name << " is not drawn";
  }
}

TEST_F(Answers, GraphToAPlaceThatIsNotThereSaysSo) {
  ProcessResult result = run({"graph", "p.rlflow", "-o", "absent/p.svg"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("absent/p.svg"), std::string::npos) << result.err;
}

TEST_F(Answers, PlanCountsTheBatch) {
  ProcessResult result = run({"plan", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("4 prompts x 2 samples = 8 responses over all ranks"), std::string::npos) << result.out;
}

TEST_F(Answers, PlanAsJson) {
  json object = json_of(run({"plan", "--json", "p.rlflow"}));
  EXPECT_EQ(object.at("format"), "rlflow.plan/1");
  EXPECT_EQ(object.at("flow"), "grpo");
  EXPECT_EQ(object.at("steps"), 3);
  std::vector<std::string> names;
  for (const json& node : object.at("nodes")) names.push_back(node.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"batch", "traj", "r", "adv", "step"}));
}

TEST_F(Answers, TheMeaningDoesNotDependOnWhiteSpaceButOnTheTemperature) {
  write_file(folder_.path() + "/spaced.rlflow", spoilt("n=2", "n  =  2"));
  auto meaning = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", "--json"});
    return json_of(run(arguments)).at("meaning").get<std::string>();
  };
  EXPECT_EQ(meaning({"p.rlflow"}), meaning({"spaced.rlflow"}));
  EXPECT_NE(meaning({"p.rlflow"}), meaning({"p.rlflow", "-s", "traj.temperature=0.5"}));
}

std::string origin_of(const json& object, const std::string& address) {
  for (const json& param : object.at("params")) {
    if (param.at("address") == address)
      return param.at("value").get<std::string>() + " " + param.at("origin").get<std::string>();
  }
  return "absent";
}

TEST_F(Answers, ParamsTellWhoGaveAValue) {
  json object = json_of(run({"params", "--json", "-s", "traj.max_new=20", "p.rlflow"}));
  EXPECT_EQ(object.at("format"), "rlflow.params/1");
  EXPECT_EQ(origin_of(object, "kl"), "0 program");
  EXPECT_EQ(origin_of(object, "traj.max_new"), "20 command line");
  EXPECT_EQ(origin_of(object, "traj.temperature"), "1 default");
  EXPECT_EQ(origin_of(object, "here.threads"), "2 program");
}

TEST_F(Answers, ParamsTellTypeRangeAndPlace) {
  write_file(folder_.path() + "/o.toml", "[traj]\nmax_new = 20\n\n[policy.optim]\nlr = 2e-6\n");
  json object = json_of(run({"params", "--json", "-f", "o.toml", "-s", "traj.n=6", "p.rlflow"}));
  EXPECT_EQ(origin_of(object, "traj.max_new"), "20 overrides file");
  EXPECT_EQ(origin_of(object, "traj.n"), "6 command line");
  EXPECT_EQ(origin_of(object, "policy.optim.lr"), "2e-06 overrides file");
  EXPECT_EQ(origin_of(object, "policy.optim.eps"), "1e-08 default");
  EXPECT_EQ(origin_of(object, "here"), "cpu program");
  for (const json& param : object.at("params")) {
    if (param.at("address") != "traj.max_new") continue;
    EXPECT_EQ(param.at("type"), "int");
    EXPECT_EQ(param.at("min"), 1);
    EXPECT_EQ(param.at("file"), "o.toml");
    EXPECT_EQ(param.at("line"), 2);
    EXPECT_NE(param.at("doc").get<std::string>(), "");
  }
  ProcessResult table = run({"params", "-f", "o.toml", "p.rlflow"});
  EXPECT_NE(table.out.find("o.toml:2"), std::string::npos) << table.out;
}

// Every address that params lists can be given, as it is printed, and means the same.
TEST_F(Answers, EveryAddressOfParamsIsAnOverride) {
  json object = json_of(run({"params", "--json", "p.rlflow"}));
  const std::string meaning = json_of(run({"plan", "--json", "p.rlflow"})).at("meaning");
  for (const json& param : object.at("params")) {
    if (param.at("value").is_null()) continue;
    const std::string change = param.at("address").get<std::string>() + "=" + param.at("value").get<std::string>();
    ProcessResult result = run({"plan", "--json", "-s", change, "p.rlflow"});
    ASSERT_EQ(result.exit_code, 0) << change << "\n" << result.err;
    EXPECT_EQ(json::parse(result.out).at("meaning"), meaning) << change;
  }
}

TEST_F(Answers, AMissingFileOfOverridesIsNoAnswer) {
  for (const char* verb : {"check", "plan", "params", "graph"}) {
    ProcessResult result = run({verb, "-f", "absent.toml", "p.rlflow"});
    EXPECT_EQ(result.exit_code, 2) << verb;
    EXPECT_NE(result.err.find("absent.toml"), std::string::npos) << result.err;
  }
}

TEST_F(Answers, AShapeConstantOfTheCommandLineIsNotTheProgramS) {
  json object = json_of(run({"params", "--json", "-s", "traj.n=6", "p.rlflow"}));
  EXPECT_EQ(origin_of(object, "traj.n"), "6 command line");
}

TEST_F(Answers, ExplainShowsACodeWithItsExamples) {
  ProcessResult result = run({"explain", "e0305"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("error[E0305]: ")) << result.out;
  EXPECT_NE(result.out.find("\nwrong:\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\nright:\n"), std::string::npos) << result.out;
}

TEST_F(Answers, ExplainShowsALintByItsName) {
  EXPECT_EQ(run({"explain", "unused-node"}).out, run({"explain", "W0701"}).out);
}

TEST_F(Answers, ExplainShowsNodesSettingsSourcesAndFunctions) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"rollout", "rollout(replica, prompts, [n=]) -> traj[B, T]"},
      {"update", "update(model, traj, adv, [old=], [ref=]) -> metrics"},
      {"temperature", "`temperature` of rollout"},
      {"retry", "`retry` of every node"},
      {"addition", "data NAME = builtin(\"addition\")"},
      {"adamw", "adamw(lr, [betas]"},
      {"cosine", "cosine(peak, [warmup], total, [floor])"},
      {"model", "settings of a model"},
  };
  for (const auto& [subject, part] : expected) {
    ProcessResult result = run({"explain", subject});
    EXPECT_EQ(result.exit_code, 0) << subject << result.err;
    EXPECT_NE(result.out.find(part), std::string::npos) << subject << ":\n" << result.out;
  }
}

TEST_F(Answers, ExplainAsJson) {
  json object = json_of(run({"explain", "--json", "clip_high"}));
  EXPECT_EQ(object.at("format"), "rlflow.explain/1");
  ASSERT_EQ(object.at("found").size(), 1u);
  EXPECT_EQ(object.at("found")[0].at("of"), "update/policy");
  EXPECT_EQ(object.at("found")[0].at("required"), false);
}

TEST_F(Answers, ExplainListsEveryCodeAndEachOfThemIsExplained) {
  json object = json_of(run({"explain", "--json"}));
  EXPECT_GT(object.at("codes").size(), 30u);
  for (const json& code : object.at("codes")) {
    ProcessResult result = run({"explain", code.at("code").get<std::string>()});
    EXPECT_EQ(result.exit_code, 0) << code.at("code");
  }
}

TEST_F(Answers, RunsOfAnEmptyFolderAreNone) {
  ProcessResult result = run({"runs", "--runs-dir", "nowhere"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("no runs in nowhere"), std::string::npos) << result.out;
  json object = json_of(run({"runs", "--json", "--runs-dir", "nowhere"}));
  EXPECT_EQ(object.at("format"), "rlflow.runs/1");
  EXPECT_TRUE(object.at("runs").empty());
}

// The dynamic loader itself tells which files it maps.
TEST_F(Answers, VerbsThatDoNotRunMapNeitherTorchNorTbb) {
  const std::vector<std::vector<std::string>> commands = {
      {"check", "p.rlflow"},
      {"fmt", "--check", "p.rlflow"},
      {"plan", "p.rlflow"},
      {"params", "p.rlflow"},
      {"explain", "rollout"},
      {"runs"},
      {"graph", "p.rlflow", "-o", "p.svg"},
  };
  for (const auto& command : commands) {
    ProcessResult result = run(command, {{"LD_DEBUG", "files"}});
    EXPECT_NE(result.err.find("libsqlite3"), std::string::npos) << "the loader said nothing";
    for (const char* library : {"libtorch", "libc10", "libtbb", "librlflow_run"}) {
      EXPECT_EQ(result.err.find(library), std::string::npos) << command.front() << " maps " << library;
    }
  }
}

TEST_F(Answers, CheckTakesUnderFiftyMillisecondsOfProcessorTime) {
  double least = 1;
  for (int i = 0; i < 10; ++i) least = std::min(least, run({"check", "p.rlflow"}).cpu_seconds);
  EXPECT_LT(least, 0.050);
}

}  // namespace
}  // namespace rlflow::testing
