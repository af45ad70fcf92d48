// What does `plan` answer for a described machine, and does it refuse what does not fit?
#include <gtest/gtest.h>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class PlanVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = folder_.path();
    write_file(folder + "/p.rlflow", kTinyProgram);
    write_file(folder + "/rlflow.toml", "");
    write_file(folder + "/m.json", machine(std::int64_t{1} << 34));
    write_file(folder + "/small.json", machine(1 << 20));
    ProcessOptions options;
    run_process({"mkdir", "-p", folder + "/models/tiny"}, options);
    write_file(folder + "/models/tiny/config.json",
               read_file(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny/config.json"));
  }
  static std::string machine(std::int64_t bytes) {
    return R"({"format": "rlflow.machine/1", "name": "box", "cpu": {"cores": 2, "memory_bytes": )" +
           std::to_string(bytes) + "}}";
  }
  ProcessResult run(std::vector<std::string> arguments) { return rlflow(arguments, folder_.path()); }
  ScratchFolder folder_{"plan"};
};

TEST_F(PlanVerb, JsonHasBatchesBytesMemoryAndTime) {
  ProcessResult result = run({"plan", "--json", "--machine", "m.json", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  json object = json_of(result);
  EXPECT_EQ(object.at("format"), "rlflow.plan/1");
  EXPECT_EQ(object.at("fits"), true);
  EXPECT_EQ(object.at("machine").at("name"), "box");
  EXPECT_EQ(object.at("models")[0].at("parameters"), 198464);
  EXPECT_EQ(object.at("batches")[1].at("rows"), 8);  // 4 prompts x 2 samples
  EXPECT_EQ(object.at("batches")[1].at("prompt_tokens"), 9);
  EXPECT_EQ(object.at("replicas")[0].at("sync_bytes"), 0);
  EXPECT_GT(object.at("memory")[0].at("peak").get<double>(), 16.0 * 198464);
  EXPECT_GT(object.at("estimate").at("seconds_a_step").get<double>(), 0);
}

TEST_F(PlanVerb, AnUnreadNodeHasAPrice) {
  std::string text = kTinyProgram;
  text.replace(text.find(" when kl > 0"), 12, "");
  text.replace(text.find(", ref=refl) { kl = kl }"), 23, ")");
  write_file(folder_.path() + "/unread.rlflow", text);
  ProcessResult result = run({"plan", "--machine", "m.json", "unread.rlflow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("warning[W0701]: nothing reads `refl`"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("B = prompts 4 x n 2 = 8 sequences through `ref`"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("= note: on this machine about "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" a step, an estimate"), std::string::npos) << result.err;
}

TEST_F(PlanVerb, PlanAndCheckRefuseWhatDoesNotFit) {
  for (const char* verb : {"plan", "check"}) {
    ProcessResult result = run({verb, "--machine", "small.json", "p.rlflow"});
    EXPECT_EQ(result.exit_code, 1) << verb;
    EXPECT_NE(result.err.find("error[E0513]: the host needs "), std::string::npos) << result.err;
  }
  EXPECT_EQ(run({"check", "--machine", "m.json", "p.rlflow"}).exit_code, 0);
}

TEST_F(PlanVerb, DevicesThatAreNotThereAreNamedWithTheOverride) {
  ProcessResult result = run({"plan", "--machine", "m.json", "-s", "here=gpu[0..2]", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error[E0502]: no GPU 0 here"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("box has no GPU"), std::string::npos) << result.err;
}

TEST_F(PlanVerb, ABadMachineFileIsSaidToBe) {
  write_file(folder_.path() + "/m.json", "{\"cores\": 3}");
  ProcessResult result = run({"plan", "--machine", "m.json", "p.rlflow"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("machine file m.json: there is no format"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace rlflow::testing
