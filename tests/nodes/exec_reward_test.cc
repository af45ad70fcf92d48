// Do programs as judges keep their promises: matching by id, retries, batches, recycling, the Python helper, examples?
#include "nodes/reward/exec_reward.h"

#include <gmock/gmock.h>

#include <sys/wait.h>

#include <csignal>
#include <set>
#include <thread>

#include "nodes/reward/examples.h"
#include "runtime/contract/node.h"
#include "tests/nodes/judged_by.h"

namespace rlflow::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Which sandbox does not matter here; basic needs least of the system.
Attributes basic(Attributes more = {}) {
  more["sandbox"] = Word{"basic"};
  return more;
}

constexpr const char* kHelped = R"(
from rlflow_reward import serve
def reward(prompts, completions, answer, ended, **columns):
    print("nobody reads this as a reply")
    return [(text == right) + len(batch) / 100 for text, right, batch in zip(completions, answer, [completions] * 99)]
serve(reward)
)";

class ExecReward : public ::testing::Test {
 protected:
  // Verdicts of the program on the responses "0" … "count - 1".
  Judgement judged(const PlanReward& declared, std::size_t count, const Judging& how = {},
                   const ExecLimits& limits = {}) {
    const NumberedResponses responses(count);
    return make_exec_reward(declared, project_.place(), limits)->judge(responses.requests, how);
  }
  static std::vector<double> values(const Judgement& judgement) {
    std::vector<double> list;
    for (const RewardVerdict& verdict : judgement.verdicts) {
      EXPECT_TRUE(verdict.ok()) << verdict.error;
      list.push_back(verdict.value);
    }
    return list;
  }
  std::string lines(const std::string& file) const {
    std::ifstream stream(project_.root() / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  RewardProject project_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

// 5 responses in batches of 2: two of 2, one of 1.
TEST_F(ExecReward, TheHelperJudgesABatchWithOneCall) {
  const Judgement judgement = judged(project_.python(kHelped, basic({{"batch", std::int64_t{2}}})), 5);
  EXPECT_EQ(values(judgement), (std::vector<double>{1.02, 1.02, 1.02, 1.02, 1.01}));
  EXPECT_THAT(judgement.warnings, IsEmpty());
}

TEST_F(ExecReward, WorkersAndBatchesDoNotChangeVerdicts) {
  const char* program =
      "from rlflow_reward import serve\nserve(lambda prompts, completions, **c: [int(t) for t in completions])";
  std::vector<double> expected;
  for (int i = 0; i < 23; ++i) expected.push_back(i);
  for (std::int64_t batch : {1, 4, 100}) {
    for (std::int32_t workers : {1, 3}) {
      Judging how;
      how.workers = workers;
      EXPECT_EQ(values(judged(project_.python(program, basic({{"batch", batch}})), 23, how)), expected);
    }
  }
}

TEST_F(ExecReward, ColumnsAreFieldsOfTheRowWithAnswerAndEnded) {
  const PlanReward declared = project_.python(R"(
from rlflow_reward import serve
def reward(prompts, completions, level, answer, ended, **columns):
    assert prompts == ["p"] and completions == ["r"] and answer == ["a"] and ended == [False], (prompts, columns)
    assert columns == {"tags": [["x", 1]], "prompt": ["the row's"]}, columns
    return level
serve(reward)
)",
                                              basic());
  const RewardRequest request{"p", "r", "a", false, R"({"level": 3, "tags": ["x", 1], "prompt": "the row's"})"};
  const Judgement judgement = make_exec_reward(declared, project_.place())->judge(std::span(&request, 1), {});
  EXPECT_EQ(values(judgement), std::vector<double>{3});
}

TEST_F(ExecReward, TheHelperSaysWhatAFunctionDidWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"raise ValueError('no verb')", "ValueError: no verb"},
      {"return []", "0 rewards for 1 completions"},
      {"return [None]", "gave None instead of a number"},
      {"return ['1']", "gave '1' instead of a number"},
      {"return [float('nan')]", "gave nan"},
      {"return [float('inf')]", "gave inf"},
      {"return [{}]", "gave dict instead of a number"},
      {"return 1", "not iterable"},
      {"return [1e7]", "larger than 1e6"},
  };
  for (const auto& [body, says] : cases) {
    const std::string program =
        std::string("from rlflow_reward import serve\ndef f(prompts, completions, **c):\n    ") + body + "\nserve(f)\n";
    const Judgement judgement = judged(project_.python(program, basic()), 1);
    EXPECT_EQ(judgement.verdicts[0].kind, VerdictKind::error) << body;
    EXPECT_THAT(judgement.verdicts[0].error, HasSubstr(says));
    EXPECT_EQ(judgement.errors, 1);
  }
}

// Response 3 of a batch of 8 ends the worker: the seven others are asked alone and judged.
TEST_F(ExecReward, OneBadResponseOfABatchFailsAlone) {
  for (const char* bad : {"os._exit(9)", "raise RuntimeError('bad')"}) {
    const std::string program = std::string(
                                    "import os\nfrom rlflow_reward import serve\n"
                                    "def f(prompts, completions, **c):\n    if '3' in completions: ") +
                                bad + "\n    return [1.0] * len(completions)\nserve(f)\n";
    const Judgement judgement = judged(project_.python(program, basic({{"batch", std::int64_t{8}}})), 8);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(judgement.verdicts[i].kind, i == 3 ? VerdictKind::error : VerdictKind::ok) << i << bad;
    }
    EXPECT_EQ(judgement.errors, 1) << "what happens to a batch counts for nobody";
  }
}

// A file of its own counts the tries: allowed to write only without a sandbox.
TEST_F(ExecReward, TriesAResponseAgainAsOftenAsItMay) {
  const PlanReward declared = project_.python(R"(
from rlflow_reward import serve
def f(prompts, completions, **c):
    with open("tries", "a") as file: file.write(completions[0])
    if completions[0] == "1" and open("tries").read().count("1") < 3: raise RuntimeError("not yet")
    return [0.5]
serve(f)
)",
                                              {{"sandbox", Word{"off"}}});
  Judging how;
  how.retry = 1;
  Judgement judgement = judged(declared, 3, how);
  EXPECT_EQ(judgement.verdicts[1].kind, VerdictKind::error);
  EXPECT_EQ(judgement.errors, 2);
  EXPECT_EQ(lines("tries"), "0112");
  how.retry = 2;
  project_.write("tries", "");
  judgement = judged(declared, 3, how);
  EXPECT_EQ(values(judgement), (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(judgement.errors, 2);
  EXPECT_EQ(lines("tries"), "01112");
}

TEST_F(ExecReward, AProgramThatJudgesNothingIsNotAskedForEverything) {
  const Judgement judgement = judged(project_.python("print('what is this?')\nraise SystemExit(4)", basic()), 100);
  EXPECT_EQ(judgement.errors, JudgingLoop::kGiveUpAfter);
  EXPECT_THAT(judgement.verdicts[0].error, HasSubstr("exited with status 4; stdout: what is this?"));
  EXPECT_EQ(judgement.verdicts[99].kind, VerdictKind::error);
  EXPECT_THAT(judgement.verdicts[99].error, StartsWith("not asked, since the first 8 responses all failed"));
}

// Each worker names itself by its process number.
constexpr const char* kNumbers =
    "import os\nfrom rlflow_reward import serve\n"
    "kept = []\n"
    "def f(prompts, completions, **c):\n    kept.append(bytearray(int(os.environ.get('GROW', '0'))))\n"
    "    return [os.getpid() for t in completions]\nserve(f)\n";

TEST_F(ExecReward, AWorkerStaysAndIsRecycledAfterSoManyResponses) {
  ExecLimits limits;
  limits.recycle_samples = 3;
  const std::vector<double> numbers = values(judged(project_.python(kNumbers, basic()), 7, {}, limits));
  EXPECT_EQ(numbers[0], numbers[2]);
  EXPECT_NE(numbers[2], numbers[3]);
  EXPECT_EQ(numbers[3], numbers[5]);
  EXPECT_NE(numbers[5], numbers[6]);
}

// 8 MiB a response; the mark is crossed within some responses and seen at the next look, 50 ms later at most.
TEST_F(ExecReward, AWorkerIsRecycledWhenItIsLarge) {
  ExecLimits limits;
  limits.recycle_bytes = std::uint64_t{64} << 20;
  setenv("GROW", "8388608", 1);
  const PlanReward declared = project_.python(std::string(kNumbers) + "\n", {{"sandbox", Word{"off"}}});
  auto reward = make_exec_reward(declared, project_.place(), limits);
  const NumberedResponses responses(10);
  std::set<double> numbers;
  // As many calls as it takes, each of at most 80 MiB: at the second the first worker is large.
  for (int call = 0; call < 50 && numbers.size() < 2; ++call) {
    for (double number : values(reward->judge(responses.requests, {}))) numbers.insert(number);
  }
  unsetenv("GROW");
  EXPECT_GE(numbers.size(), 2u);  // on a busy machine the second may be large before the call ends
}

// Any language will do: here sh, which answers once and ends.
TEST_F(ExecReward, AProgramThatEndsAfterEachReplyIsStartedAgain) {
  project_.write("reward.sh", R"sh(read -r line <&3
id=${line#*\"id\":}
echo "{\"id\":${id%%,*},\"reward\":2}" >&4
)sh");
  const Judgement judgement = judged(RewardProject::exec("/bin/sh reward.sh", basic()), 4);
  EXPECT_EQ(values(judgement), (std::vector<double>{2, 2, 2, 2}));
  EXPECT_EQ(judgement.errors, 0);
}

TEST_F(ExecReward, AReplyThatNobodyAskedForIsToldAndIsNobodys) {
  const PlanReward declared = project_.python(R"(
import json, os
replies = os.fdopen(4, "w")
for line in os.fdopen(3):
    r = json.loads(line)
    replies.write(json.dumps({"id": r["id"], "reward": 1}) + "\n")
    replies.write(json.dumps({"id": r["id"] + 1, "reward": 0}) + "\n")
    replies.flush()
)",
                                              basic());
  const Judgement judgement = judged(declared, 3);
  EXPECT_EQ(values(judgement), (std::vector<double>{1, 1, 1}));
  ASSERT_EQ(judgement.warnings.size(), 1u);
  EXPECT_THAT(judgement.warnings[0], HasSubstr("reward `mine`: it sent a reply that nobody asked for"));
}

TEST_F(ExecReward, StopsWhenAsked) {
  std::stop_source stop;
  Judging how;
  how.stop = stop.get_token();
  how.progress = [&](std::int64_t, std::int64_t) { stop.request_stop(); };  // at the first verdict
  const char* program =
      "import time\nfrom rlflow_reward import serve\ndef f(prompts, completions, **c):\n"
      "    if completions[0] != '0': time.sleep(1000)\n    return [1]\nserve(f)\n";
  EXPECT_THROW(judged(project_.python(program, basic()), 3, how), TaskStopped);
}

TEST_F(ExecReward, SaysWhyNothingCanBeStarted) {
  EXPECT_THROW(make_exec_reward(RewardProject::exec("no-such-program"), project_.place()), std::runtime_error);
  EXPECT_THROW(make_exec_reward(RewardProject::exec("sh 'x"), project_.place()), std::runtime_error);
  RewardPlace elsewhere = project_.place();
  elsewhere.host = "/nowhere/rlflow-reward-host";
  const NumberedResponses one(1);
  try {
    make_exec_reward(RewardProject::exec("/bin/true"), elsewhere)->judge(one.requests, {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/rlflow-reward-host: No such file"));
  }
  project_.write("reward", "#!/nowhere/interpreter\n");
  std::filesystem::permissions(project_.root() / "reward", std::filesystem::perms::owner_all);
  try {
    judged(RewardProject::exec("./reward", basic()), 1);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start `./reward`"));
  }
}

TEST_F(ExecReward, ATextThatIsNotUtf8ReachesTheProgramMended) {
  const RewardRequest request{"p", "caf\xc3", "", true, {}};
  const PlanReward declared = project_.python(
      "from rlflow_reward import serve\nserve(lambda p, completions, **c: [completions == ['caf\\ufffd']])", basic());
  EXPECT_EQ(values(make_exec_reward(declared, project_.place())->judge(std::span(&request, 1), {})),
            std::vector<double>{1});
}

// The engine may be killed at any instant: then nobody is left to end the worker but its host.
TEST_F(ExecReward, AWorkerDoesNotOutliveTheEngine) {
  project_.write("reward.py", "import os, sys, time\nos.write(4, b'{\"id\": 1, \"reward\": 1}\\n')\ntime.sleep(1000)");
  const std::string script = (project_.root() / "reward.py").string();
  const pid_t engine = fork();
  if (engine == 0) {
    auto reward =
        make_exec_reward(RewardProject::exec(kPython + " " + script, {{"sandbox", Word{"off"}}}), project_.place());
    const NumberedResponses one(1);
    reward->judge(one.requests, {});
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(engine, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto left = [&] { return !processes_with(script).empty(); };
  for (int look = 0; look < 2000 && left(); ++look) std::this_thread::yield();
  EXPECT_FALSE(left());
}

TEST_F(ExecReward, ExamplesAreCheckedAndNamedByLine) {
  PlanReward declared = project_.python(kHelped, basic({{"examples", std::string("examples.jsonl")}}));
  project_.write("examples.jsonl",
                 "{\"response\": \"4\", \"answer\": \"4\", \"reward\": 1.01}\n\n"
                 "{\"response\": \"5\", \"answer\": \"4\", \"reward\": 0.01}\n");
  check_examples(declared, project_.place());
  const std::pair<const char*, const char*> wrong[] = {
      {"{\"response\": \"4\", \"answer\": \"4\", \"reward\": 1.01}\n{\"response\": \"5\", \"answer\": \"4\", "
       "\"reward\": 1}",
       "reward `mine`: examples.jsonl:2: the reward is 0.01, the example says 1; the response is `5`"},
      {"{\"response\": \"4\"}", "examples.jsonl:1: an example needs `response` and `reward`, a number"},
      {"{\"response\": 4, \"reward\": \"1\"}", "examples.jsonl:1: an example needs"},
      {"\n[]", "examples.jsonl:2: is not an object"},
      {"{", "examples.jsonl:1: not valid JSON"},
      {"\n", "examples.jsonl: has no examples"},
  };
  for (const auto& [text, says] : wrong) {
    project_.write("examples.jsonl", text);
    try {
      check_examples(declared, project_.place());
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  }
}

}  // namespace
}  // namespace rlflow::testing
