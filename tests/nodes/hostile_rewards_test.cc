// Does each hostile reward program get the right verdict, leave no process behind, and spoil no other response?
#include <gmock/gmock.h>
#include <unistd.h>

#include <ostream>
#include <tuple>

#include "nodes/reward/host/landlock.h"
#include "tests/nodes/judged_by.h"

namespace rlflow::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Hostile {
  const char* name;
  const char* body;  // of hostile(r), called for the response "2"
  VerdictKind kind;
  const char* says;  // part of the error; ok: nothing
  enum { everywhere, full_alone, full_or_landlock } promised = everywhere;
  const char* or_says = nullptr;  // where two limits are broken at once, either may be seen first
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

// The program answers i / 4 to the response "i", but for 2.
constexpr const char* kHead = R"(
import ctypes, json, os, signal, socket, sys, time
requests = os.fdopen(int(os.environ["RLFLOW_REQUESTS"]))
replies = os.fdopen(int(os.environ["RLFLOW_REPLIES"]), "w")
def say(text):
    replies.write(text)
    replies.flush()
def answer(r, value):
    say(json.dumps({"id": r["id"], "reward": value}) + "\n")
def refused(r, attempt):  # 1 if the attempt is refused, -1 if it succeeds
    try:
        attempt()
    except OSError:
        return answer(r, 1)
    answer(r, -1)
def hostile(r):
)";
constexpr const char* kTail = R"(
for line in requests:
    r = json.loads(line)
    if r["response"] == "2":
        hostile(r)
    else:
        answer(r, int(r["response"]) / 4)
)";

constexpr Hostile kHostile[] = {
    {"exits_with_1", "os._exit(1)", VerdictKind::error, "it exited with status 1"},
    {"exits_with_0", "os._exit(0)", VerdictKind::error, "it exited with status 0"},
    {"raises", "raise RuntimeError('no such verb')", VerdictKind::error, "RuntimeError: no such verb"},
    {"segfaults", "ctypes.string_at(0)", VerdictKind::error, "signal 11"},
    {"aborts", "os.abort()", VerdictKind::error, "signal 6"},
    {"kills_itself", "os.kill(os.getpid(), signal.SIGKILL)", VerdictKind::error, "signal 9"},
    {"sleeps_deaf_to_sigterm",
     "for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)",
     VerdictKind::timeout, "no reply within 1500 ms"},
    {"loops", "while True: pass", VerdictKind::timeout, "no reply within"},
    {"stops_itself", "os.kill(os.getpid(), signal.SIGSTOP)", VerdictKind::timeout, "no reply within"},
    {"prints_without_end", "while True: print('x' * 1000)", VerdictKind::error, "it printed more than 4194304 bytes"},
    {"prints_errors_without_end", "while True: sys.stderr.write('x' * 1000)", VerdictKind::error, "it printed more"},
    {"forges_by_printing", "print(json.dumps({'id': r['id'], 'reward': 1}), flush=True)\nos._exit(3)",
     VerdictKind::error, "it exited with status 3"},
    {"half_a_reply", "say('{\"id\": ')\ntime.sleep(1000)", VerdictKind::timeout, "no reply within"},
    {"reply_without_newline", "say(json.dumps({'id': r['id'], 'reward': 1}))\nos._exit(0)", VerdictKind::error,
     "status 0"},
    {"wrong_id", "say(json.dumps({'id': r['id'] + 1, 'reward': 1}) + '\\n')", VerdictKind::error,
     "none that was asked"},
    {"no_id", "say('{\"reward\": 1}\\n')", VerdictKind::error, "without `id`"},
    {"id_as_text", "say(json.dumps({'id': str(r['id']), 'reward': 1}) + '\\n')", VerdictKind::error, "`id`"},
    {"nan", "answer(r, float('nan'))", VerdictKind::error, "not valid JSON"},
    {"infinity", "say('{\"id\": %d, \"reward\": 1e999}\\n' % r['id'])", VerdictKind::error, "not valid JSON"},
    {"huge_number", "answer(r, 1000001)", VerdictKind::error, "larger than 1e6"},
    {"text_for_a_number", "answer(r, '1')", VerdictKind::error, "is not a number"},
    {"truth_for_a_number", "answer(r, True)", VerdictKind::error, "is not a number"},
    {"null_for_a_number", "answer(r, None)", VerdictKind::error, "is not a number"},
    {"neither_reward_nor_error", "say(json.dumps({'id': r['id']}) + '\\n')", VerdictKind::error, "either `reward`"},
    {"both_reward_and_error", "say(json.dumps({'id': r['id'], 'reward': 1, 'error': 'x'}) + '\\n')", VerdictKind::error,
     "either `reward`"},
    {"misspelt_reward", "say(json.dumps({'id': r['id'], 'rewrad': 1}) + '\\n')", VerdictKind::error, "means nothing"},
    {"two_rewards", "say('{\"id\": %d, \"reward\": 1, \"reward\": 0}\\n' % r['id'])", VerdictKind::error, "twice"},
    {"no_json", "say('fine\\n')", VerdictKind::error, "not valid JSON"},
    {"no_utf8", "replies.buffer.write(b'{\"id\": 1, \"info\": \"\\xff\"}\\n')\nreplies.flush()", VerdictKind::error,
     "not valid JSON"},
    {"deep_reply", "say('{\"id\": %d, \"reward\": 1, \"info\": %s}\\n' % (r['id'], '[' * 99 + ']' * 99))",
     VerdictKind::error, "nested deeper"},
    {"long_reply", "say(json.dumps({'id': r['id'], 'reward': 1, 'info': 'x' * 70000}) + '\\n')", VerdictKind::error,
     "longer than 64 KiB"},
    {"endless_reply", "while True: say('x' * 1000)", VerdictKind::error, "longer than 64 KiB"},
    {"closes_its_replies", "os.close(replies.fileno())\ntime.sleep(1000)", VerdictKind::error, "closed the descriptor"},
    {"fills_memory", "kept = []\nwhile True: kept.append(bytearray(1 << 24))", VerdictKind::error, "Memory"},
    {"fills_memory_by_children",
     "for i in range(20):\n    if os.fork() == 0:\n        kept = bytearray(1 << 26)\n        time.sleep(1000)\n"
     "time.sleep(1000)",
     VerdictKind::error, "it used more than 256 MiB of memory"},
    {"leaves_a_child_with_its_replies", "if os.fork() == 0: time.sleep(1000)\nos._exit(5)", VerdictKind::error,
     "it exited with status 5"},
    {"starts_a_daemon",
     "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\nos.wait()\n"
     "answer(r, 1)",
     VerdictKind::ok, ""},
    {"fork_bomb", "while True:\n    try: os.fork()\n    except OSError: pass", VerdictKind::error,
     "it had more than 100 processes", Hostile::full_alone, "it used more than 256 MiB of memory"},
    {"kills_its_parent", "refused(r, lambda: os.kill(os.getppid(), signal.SIGKILL))", VerdictKind::ok, ""},
    {"stops_its_parent", "refused(r, lambda: os.kill(os.getppid(), signal.SIGSTOP))", VerdictKind::ok, ""},
    {"kills_everyone", "try: os.kill(-1, signal.SIGKILL)\nexcept OSError: pass\nanswer(r, 1)", VerdictKind::ok, ""},
    {"reads_the_run_folder", "refused(r, lambda: open('runs/one/state.db').read())", VerdictKind::ok, "",
     Hostile::full_or_landlock},
    {"writes_the_project", "refused(r, lambda: open('reward.py', 'a').write('#'))", VerdictKind::ok, "",
     Hostile::full_or_landlock},
    {"reads_passwords", "refused(r, lambda: open('/etc/shadow').read())", VerdictKind::ok, "",
     Hostile::full_or_landlock},
    {"reads_its_hosts_environment", "refused(r, lambda: open('/proc/%d/environ' % os.getppid()).read())",
     VerdictKind::ok, "", Hostile::full_or_landlock},
    {"opens_a_socket", "refused(r, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))", VerdictKind::ok, ""},
    {"opens_a_namespace",
     "def attempt():\n    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0: raise "
     "OSError(ctypes.get_errno())\n"
     "refused(r, attempt)",
     VerdictKind::ok, ""},
};

std::string indented(const std::string& body) {
  std::string text = "    ";
  for (char c : body) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return text;
}

class HostileReward : public ::testing::TestWithParam<std::tuple<std::string, Hostile>> {};

TEST_P(HostileReward, SpoilsItsOwnResponseAlone) {
  const auto& [tier, hostile] = GetParam();
  const RewardProject project(std::string(hostile.name) + "-" + tier);
  if (tier == "full" && !full_sandbox_is_possible(project)) {
    GTEST_SKIP() << "this system gives no namespaces to its users: the full sandbox cannot be tested";
  }
  if (tier == "basic" && hostile.promised == Hostile::full_or_landlock && reward_host::landlock_version() == 0) {
    GTEST_SKIP() << "the kernel has no Landlock: the basic sandbox promises nothing about files here";
  }
  project.write("reward.py", kHead + indented(hostile.body) + kTail);
  const std::string script = (project.root() / "reward.py").string();
  ExecLimits limits;
  limits.output_bytes = 4 << 20;
  limits.processes = 100;
  limits.startup_ms = 30'000;
  const PlanReward declared = RewardProject::exec(
      kPython + " " + script, {{"sandbox", Word{tier}}, {"memory", Quantity{std::int64_t{256} << 20, Unit::bytes}}});
  auto reward = make_exec_reward(declared, project.place(), limits);
  const NumberedResponses responses(5);
  Judging how;
  how.timeout_ms = 1500;
  const Judgement judgement = reward->judge(responses.requests, how);
  for (std::size_t i : {0, 1, 3, 4}) {
    EXPECT_EQ(judgement.verdicts[i].kind, VerdictKind::ok) << i << ": " << judgement.verdicts[i].error;
    EXPECT_EQ(judgement.verdicts[i].value, static_cast<double>(i) / 4) << i;
  }
  const RewardVerdict& own = judgement.verdicts[2];
  EXPECT_EQ(own.kind, hostile.kind) << own.error;
  EXPECT_THAT(own.error, AnyOf(HasSubstr(hostile.says), HasSubstr(hostile.or_says ? hostile.or_says : hostile.says)));
  EXPECT_EQ(own.value, hostile.kind == VerdictKind::ok ? 1 : 0);
  EXPECT_THAT(judgement.warnings, ::testing::IsEmpty());
  reward.reset();
  EXPECT_THAT(processes_with(script), ::testing::IsEmpty());
}

std::vector<std::tuple<std::string, Hostile>> every_case() {
  std::vector<std::tuple<std::string, Hostile>> cases;
  for (const Hostile& hostile : kHostile) {
    cases.emplace_back("full", hostile);
    if (hostile.promised != Hostile::full_alone) cases.emplace_back("basic", hostile);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Programs, HostileReward, ::testing::ValuesIn(every_case()), [](const auto& param) {
  return std::string(std::get<1>(param.param).name) + "_" + std::get<0>(param.param);
});

// The test of the test: a process that is there is found.
TEST(ProcessesWith, FindsThisTest) { EXPECT_FALSE(processes_with("hostile_rewards_test").empty()); }

}  // namespace
}  // namespace rlflow::testing
