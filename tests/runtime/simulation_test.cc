// Whatever order tasks end in, whatever fails, is tried again, is killed and resumed: does every seed come to the same
// run? Each seed draws a program, an order of tasks, failures and kills; a seed that fails is a test case to keep.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/store/failpoint.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/disk_image.h"
#include "tests/runtime/recorded_disk.h"
#include "tests/runtime/run_trace.h"
#include "tests/runtime/simulated_clock.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::Draw;
using testing::fake_plan;
using testing::FakeLibrary;
using testing::PlanShape;
using testing::Recording;
using testing::request_for;
using testing::run_with;

struct Scenario {
  PlanShape shape;
  std::int32_t retry = 0;    // of every node
  int failing_percent = 0;   // of attempts
  int numerics_percent = 0;  // of attempts, never tried again
  int pausing_percent = 0;   // of tasks that ended
  int kills = 0;             // at most
  bool threads = false;      // real ones instead of one in a drawn order
};

Scenario drawn(Draw& draw) {
  Scenario scenario;
  PlanShape& shape = scenario.shape;
  shape.steps = 2 + draw.below(2);
  shape.lag = draw.below(3);
  shape.sync_every = 1 + draw.below(2);
  shape.two_groups = draw.below(2) == 0;
  shape.copy = draw.below(3) == 0;
  shape.critic = draw.below(2) == 0;
  shape.stream = draw.below(3) == 0;
  shape.update_from = 1 + draw.below(2);
  shape.evaluate_every = 1 + draw.below(3);
  shape.checkpoint_every = draw.below(3);
  shape.keep = 1 + draw.below(2);
  scenario.retry = draw.below(4);
  scenario.failing_percent = draw.below(2) * draw.below(25);
  scenario.numerics_percent = draw.below(4) == 0 ? 2 : 0;
  scenario.pausing_percent = draw.below(4) == 0 ? 10 : 0;
  scenario.kills = draw.below(4);
  scenario.threads = draw.below(4) == 0;
  return scenario;
}

Plan plan_of(const Scenario& scenario) {
  Plan plan = fake_plan(scenario.shape);
  for (PlanNode& node : plan.nodes) node.retry = scenario.retry;
  return plan;
}

// One process's part of the run; `die_at` counts failpoints and operations on the disk, 0: it lives.
[[noreturn]] void live(const Plan& plan, const fs::path& run_dir, const Scenario& scenario, Draw draw, int die_at) {
  const bool inherited = ::testing::Test::HasFailure();  // of earlier seeds
  testing::RecordedDisk disk(run_dir.parent_path());
  std::atomic<int> reached = 0;
  auto at_point = [&](const std::string&) {
    if (++reached == die_at) kill(getpid(), SIGKILL);
  };
  disk.before = [&](const testing::DiskOp&) {
    at_point({});
    return testing::Fate::pass;
  };
  failpoint_control().reached = at_point;
  FakeLibrary library;
  std::mutex mutex;  // guards draw
  auto percent = [&](int chance) {
    std::lock_guard lock(mutex);
    return draw.below(100) < chance;
  };
  library.before = [&](const PlanNode& node, const TaskInputs&, const TaskContext&) {
    if (percent(scenario.failing_percent)) throw std::runtime_error(node.name + " failed");
    if (percent(scenario.numerics_percent)) throw NumericsError(node.name + " is not finite");
  };
  PauseFlag pause;
  Recording recording;
  recording.then = [&](const RunEvent& event) {
    if (event.type == RunEvent::Type::task_done && percent(scenario.pausing_percent)) pause.request();
  };
  testing::SimulatedClock clock;
  EngineOptions options;
  options.threads = scenario.threads ? EngineOptions::Threads::plain : EngineOptions::Threads::seeded;
  options.seed = static_cast<std::uint64_t>(draw.below(1 << 30));
  options.files = &disk.files();
  options.clock = &clock;
  bool resume = fs::exists(run_dir / "state.db");
  Outcome outcome = run_plan(plan, request_for(run_dir, resume), library, recording, pause, options);
  // What a program of faults may come to: its end, a pause, or a stop that asks for a person.
  bool fine = outcome.code == ExitCode::yes || outcome.code == ExitCode::interrupted ||
              outcome.code == ExitCode::person_must_act;
  if (!fine) std::fprintf(stderr, "%s %s\n", outcome.code_id.c_str(), outcome.message.c_str());
  _exit(fine && (inherited || !::testing::Test::HasFailure()) ? 0 : 1);
}

struct Tally {
  int kills = 0, processes = 0;
};

// What is wrong with the seed; empty if nothing is.
std::string simulate(std::uint64_t seed, const fs::path& folder, Tally& tally) {
  Draw draw{seed * 2 + 1};
  const Scenario scenario = drawn(draw);
  const Plan plan = plan_of(scenario);
  fs::remove_all(folder);
  fs::create_directories(folder);
  FakeLibrary library;
  Recording recording;
  EngineOptions options;
  options.threads = EngineOptions::Threads::seeded;
  Outcome whole = run_with(plan, request_for(folder / "whole"), library, recording, options);
  if (whole.code != ExitCode::yes) return "the whole run: " + whole.message;
  for (int life = 0; life < 4; ++life) {
    int die_at = life < scenario.kills ? 1 + draw.below(300) : 0;
    Draw its_own{static_cast<std::uint64_t>(draw.below(1 << 30))};
    pid_t child = fork();
    if (child == 0) live(plan, folder / "run", scenario, its_own, die_at);
    int status = 0;
    waitpid(child, &status, 0);
    ++tally.processes;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      ++tally.kills;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return "life " + std::to_string(life) + " ended with status " + std::to_string(status);
    }
  }
  return testing::go_on_and_compare(plan, folder / "run", testing::trace_of(folder / "whole"));
}

// The first seed and how many follow. RLFLOW_SEEDS = "count" or "first+count" chooses them, so that many seeds can be
// shared by several processes.
struct Seeds {
  int first = 1, count = 0;
};
Seeds seeds() {
#ifdef __SANITIZE_ADDRESS__
  constexpr int kDefault = 150;
#else
  constexpr int kDefault = 1000;
#endif
  Seeds asked;
  if (const char* text = std::getenv("RLFLOW_SEEDS")) {
    if (std::sscanf(text, "%d+%d", &asked.first, &asked.count) == 2) return asked;
    return {1, std::atoi(text)};
  }
  return {1, testing::long_size() ? 100 * kDefault : kDefault};
}

TEST(Simulation, EverySeedComesToTheSameRun) {
  testing::ScratchFolder scratch("simulation");
  const fs::path folder = fs::canonical(scratch.path()) / "seed";
  Tally tally;
  int failed = 0;
  const Seeds drawn_from = seeds();
  ASSERT_GT(drawn_from.count, 0) << "RLFLOW_SEEDS is a count, or first+count";
  for (int seed = drawn_from.first; seed < drawn_from.first + drawn_from.count; ++seed) {
    std::string wrong = simulate(static_cast<std::uint64_t>(seed), folder, tally);
    EXPECT_EQ(wrong, "") << "seed " << seed;
    if (!wrong.empty() && ++failed == 10) break;
  }
  std::printf("%d seeds, %d processes, %d killed, %d failures\n", drawn_from.count, tally.processes, tally.kills,
              failed);
  EXPECT_GT(tally.kills, drawn_from.count / 4);
}

}  // namespace
}  // namespace rlflow
