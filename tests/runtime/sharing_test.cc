// Two processes and one run: may two write it, and does one that reads it hold up the other?
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "runtime/store/database.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::FakeLibrary;
using testing::Recording;

// One way for a process to wait for another: it reads until the other has closed its end.
struct Gate {
  int read_end = -1;
  int write_end = -1;
  Gate() {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "no pipe";
    read_end = ends[0];
    write_end = ends[1];
  }
  void close_both() const {
    close(read_end);
    close(write_end);
  }
  void await() const {
    close(write_end);
    char byte;
    while (read(read_end, &byte, 1) > 0) {
    }
  }
};

class Sharing : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(testing::run_fake(plan_, base_ / "whole").code, ExitCode::yes);
    whole_ = testing::trace_of(base_ / "whole");
  }

  testing::ScratchFolder folder_{"sharing"};
  fs::path base_ = fs::canonical(folder_.path());
  Plan plan_ = testing::fake_plan({});
  std::map<std::string, std::string> whole_;
};

// Of two processes that resume one run at the same moment one gets it, and goes on only when the other is gone; the
// other is refused at once with the pid of the first.
class Race {
 public:
  Race(const Plan& plan, fs::path run_dir) : plan_(plan), run_dir_(std::move(run_dir)) {}

  void run() {
    Gate start;
    Gate alive[2];
    pid_t pids[2];
    for (int i = 0; i < 2; ++i) {
      std::fflush(nullptr);
      pids[i] = fork();
      if (pids[i] == 0) {
        alive[i].close_both();  // of its own it has the write end alone
        be_engine(i, start, alive);
      }
    }
    start.close_both();
    for (const Gate& gate : alive) gate.close_both();
    for (int i = 0; i < 2; ++i) {
      int status = 0;
      waitpid(pids[i], &status, 0);
      codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      messages[i] = testing::read_file(message_file(i));
    }
    winner = codes[0] == 0 ? 0 : 1;
    winner_pid = pids[winner];
  }

  int codes[2] = {-1, -1};
  std::string messages[2];
  int winner = 0;
  pid_t winner_pid = 0;

 private:
  std::string message_file(int i) const { return run_dir_.string() + ".said-" + std::to_string(i); }

  [[noreturn]] void be_engine(int self, const Gate& start, const Gate* alive) {
    const Gate& other = alive[1 - self];
    FakeLibrary library;
    std::atomic<bool> first = true;
    library.before = [&](const PlanNode&, const TaskInputs&, const TaskContext&) {
      if (first.exchange(false)) other.await();
    };
    start.await();
    Recording recording;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    Outcome outcome = testing::run_with(plan_, testing::request_for(run_dir_, true), library, recording, options);
    std::ofstream(message_file(self)) << outcome.code_id << " " << outcome.message;
    _exit(static_cast<int>(outcome.code));
  }

  const Plan& plan_;
  fs::path run_dir_;
};

TEST_F(Sharing, OfTwoEnginesThatRaceFiftyTimesOneGetsTheRun) {
  std::vector<std::string> points = testing::points_of(plan_, base_ / "counted", false);
  ASSERT_TRUE(testing::die_at(plan_, base_ / "killed", false, static_cast<std::int64_t>(points.size() / 2)));
  int won[2] = {0, 0};
  for (int round = 0; round < 50; ++round) {
    testing::copy_folder(base_ / "killed", base_ / "run");
    Race race(plan_, base_ / "run");
    race.run();
    const int loser = 1 - race.winner;
    ++won[race.winner];
    EXPECT_EQ(race.codes[race.winner], 0) << race.messages[race.winner];
    EXPECT_EQ(race.codes[loser], static_cast<int>(ExitCode::store_damaged)) << race.messages[loser];
    EXPECT_TRUE(race.messages[loser].starts_with("R0201 ")) << race.messages[loser];
    EXPECT_NE(race.messages[loser].find("process " + std::to_string(race.winner_pid)), std::string::npos)
        << "the winner is " << race.winner_pid << ", but: " << race.messages[loser];
    EXPECT_EQ(testing::wrong_at_end(base_ / "run", whole_), "") << "round " << round;
  }
  std::printf("races: 50, won by the first %d, by the second %d\n", won[0], won[1]);
}

// Between the moment that a lock is taken and the one that its holder's id stands in it nobody is told another id.
TEST_F(Sharing, ALockNeverNamesItsLastHolder) {
  fs::path file = base_ / "lock";
  Gate start;
  std::vector<pid_t> pids;
  for (int i = 0; i < 2; ++i) {
    std::fflush(nullptr);
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    start.await();
    PosixFiles files;
    for (int n = 0; n < 20000; ++n) {
      if (files.lock(file)) continue;  // and lets it go
      if (lock_holder(file) == getpid()) _exit(1);
    }
    _exit(0);
  }
  start.close_both();
  for (pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0)
        << "it was told its own id while the other held the lock";
  }
}

// The reader's view stays what it was, the log grows meanwhile, and nothing of the run is otherwise.
TEST_F(Sharing, AReaderWithAnOpenTransactionHoldsNothingUp) {
  testing::PlanShape shape;
  shape.steps = 60;  // more commits than lie between two checkpoints of the log
  Plan longer = testing::fake_plan(shape);
  ASSERT_EQ(testing::run_fake(longer, base_ / "long-whole").code, ExitCode::yes);

  FakeLibrary library;
  Recording recording;
  std::optional<Database> reader;
  std::int64_t seen = -1;
  recording.then = [&](const RunEvent& event) {
    if (event.type == RunEvent::Type::step_committed && event.step == 2) {
      reader.emplace(base_ / "run" / kDatabaseName, Database::Mode::read);
      reader->execute("BEGIN");
      seen = reader->number("SELECT max(step) FROM steps");
    }
    if (event.type == RunEvent::Type::step_committed && event.step == shape.steps) {
      EXPECT_EQ(reader->number("SELECT max(step) FROM steps"), seen) << "its view moved";
      EXPECT_GT(fs::file_size(base_ / "run" / "state.db-wal"), 1'000'000u) << "the log could be emptied";
      reader.reset();
    }
  };
  EngineOptions options;
  options.threads = EngineOptions::Threads::seeded;
  Outcome outcome = testing::run_with(longer, testing::request_for(base_ / "run"), library, recording, options);
  ASSERT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  EXPECT_GE(seen, 2);
  EXPECT_EQ(testing::wrong_at_end(base_ / "run", testing::trace_of(base_ / "long-whole")), "");
  EXPECT_EQ(fs::exists(base_ / "run" / "state.db-wal") ? fs::file_size(base_ / "run" / "state.db-wal") : 0, 0u);
}

// A reader that stays to the end and beyond: the log stays too, and who comes next reads all of it.
TEST_F(Sharing, AReaderThatStaysBeyondTheEndLosesNothing) {
  FakeLibrary library;
  Recording recording;
  std::optional<Database> reader;
  recording.then = [&](const RunEvent& event) {
    if (event.type != RunEvent::Type::step_committed || event.step != 2) return;
    reader.emplace(base_ / "run" / kDatabaseName, Database::Mode::read);
    reader->execute("BEGIN");
    EXPECT_EQ(reader->number("SELECT max(step) FROM steps"), 2);
  };
  EngineOptions options;
  options.threads = EngineOptions::Threads::seeded;
  Outcome outcome = testing::run_with(plan_, testing::request_for(base_ / "run"), library, recording, options);
  EXPECT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  EXPECT_EQ(testing::wrong_at_end(base_ / "run", whole_), "");
  reader.reset();
  EXPECT_EQ(testing::wrong_at_end(base_ / "run", whole_), "");
}

}  // namespace
}  // namespace rlflow
