// Real file systems that end: full, read-only, and an ext4 whose power goes. Skipped where none may be mounted.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <functional>
#include <thread>

#include "runtime/store/fsck.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/disk_image.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/mounted_disk.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::MountedDisk;

class FileSystems : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(testing::run_fake(plan_, base_ / "whole").code, ExitCode::yes);
    whole_ = testing::trace_of(base_ / "whole");
  }
  Outcome run(const fs::path& run_dir) {
    return testing::run_fake(plan_, run_dir, fs::exists(run_dir / "state.db"), EngineOptions::Threads::plain);
  }
  static Plan small_plan() {
    testing::PlanShape shape;
    shape.steps = 8;
    shape.checkpoint_every = 2;
    shape.lag = 1;
    shape.two_groups = true;
    return testing::fake_plan(shape);
  }

  testing::ScratchFolder folder_{"file-systems"};
  fs::path base_ = fs::canonical(folder_.path());
  Plan plan_ = small_plan();
  std::map<std::string, std::string> whole_;
};

// At each amount of room that is left the run stops, naming a file and the space, and goes on when there is more.
TEST_F(FileSystems, AFullOneStopsTheRunAndItGoesOnWithTheSameBits) {
  int stopped = 0, tried = 0;
  for (auto kind : {MountedDisk::Kind::tmpfs, MountedDisk::Kind::ext4}) {
    MountedDisk disk(kind, 24 << 20);
    if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
    for (std::uint64_t room = 8 << 10; room < 900 << 10; room += testing::long_size() ? 8 << 10 : 64 << 10) {
      fs::path run_dir = fs::path(disk.path()) / "run";
      disk.fill_but(room);
      Outcome outcome = run(run_dir);
      ++tried;
      if (outcome.code != ExitCode::yes) {
        ++stopped;
        EXPECT_EQ(outcome.code, ExitCode::person_must_act) << outcome.message;
        EXPECT_EQ(outcome.code_id, "R0206") << outcome.message;
        EXPECT_NE(outcome.message.find(disk.path()), std::string::npos) << outcome.message;
        EXPECT_NE(outcome.help.find("space"), std::string::npos) << outcome.message << "; " << outcome.help;
      }
      disk.remove_filling();
      EXPECT_EQ(testing::go_on_and_compare(plan_, run_dir, whole_), "") << "with room for " << room << " bytes";
      fs::remove_all(run_dir);
    }
  }
  std::printf("full file systems: %d amounts of room tried, %d stopped the run\n", tried, stopped);
  EXPECT_GE(stopped, 4);
}

TEST_F(FileSystems, AReadOnlyOneIsRefusedAtOnce) {
  MountedDisk disk(MountedDisk::Kind::tmpfs, 24 << 20);
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  fs::path base = disk.path();
  std::vector<std::string> points = testing::points_of(plan_, base_ / "counted", false);
  ASSERT_TRUE(testing::die_at(plan_, base / "run", false, static_cast<std::int64_t>(points.size() / 2)));
  disk.set_read_only(true);
  for (const fs::path& run_dir : {base / "run", base / "another"}) {
    Outcome refused = run(run_dir);
    EXPECT_EQ(refused.code, ExitCode::person_must_act) << refused.message;
    EXPECT_NE(refused.message.find(disk.path()), std::string::npos) << refused.message;
    EXPECT_NE(refused.message.find("Read-only file system"), std::string::npos) << refused.message;
  }
  disk.set_read_only(false);
  EXPECT_EQ(testing::go_on_and_compare(plan_, base / "run", whole_), "");
}

// A run in a process of its own, which writes down each step that it was told of.
class ToldRun {
 public:
  ToldRun(const std::function<Outcome(const std::function<void(Step)>&)>& work) {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "no pipe";
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      signal(SIGPIPE, SIG_IGN);
      Outcome outcome = work([&](Step step) {
        auto told = static_cast<char>(step);
        if (write(ends[1], &told, 1) != 1 && errno != EPIPE) _exit(99);
      });
      if (outcome.code == ExitCode::store_damaged) std::fprintf(stderr, "it says %s\n", outcome.message.c_str());
      _exit(static_cast<int>(outcome.code));
    }
    close(ends[1]);
    told_ = ends[0];
  }
  // The newest step that it was told of by now; -1 if none.
  Step told() {
    char step = 0;
    for (pollfd ready{told_, POLLIN, 0}; poll(&ready, 1, 0) == 1 && read(told_, &step, 1) == 1;) last_ = step;
    return last_;
  }
  // Waits for its end; its exit code.
  int end() {
    close(told_);
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
  Step last_ = -1;
  int told_ = -1;
};

// The control of the next test: what nobody synced is gone.
TEST_F(FileSystems, AnExt4WhosePowerGoesLosesWhatIsNotSynced) {
  MountedDisk disk(MountedDisk::Kind::ext4, 24 << 20);
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  testing::write_file(disk.path() + "/file", "not synced");
  disk.take_power_away();
  disk.mount_again();
  EXPECT_FALSE(fs::exists(disk.path() + "/file"));
}

TEST_F(FileSystems, AnExt4WhosePowerGoesHasAllThatWasTold) {
  MountedDisk disk(MountedDisk::Kind::ext4, 48 << 20);
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  fs::path run_dir = fs::path(disk.path()) / "runs" / "run";
  testing::Draw draw{5};
  const int wanted = testing::long_size() ? 300 : 30;
  int lost = 0, ended = 0, without_run = 0, failures = 0;
  Step told = -1;
  while (lost < wanted && ended < 10 * wanted) {
    ToldRun child([&](const std::function<void(Step)>& tell) {
      testing::FakeLibrary library;
      testing::Recording recording;
      recording.then = [&](const RunEvent& event) {
        if (event.type == RunEvent::Type::opened) tell(event.step);
        if (event.type == RunEvent::Type::step_committed) tell(event.step);
      };
      EngineOptions options;
      options.threads = EngineOptions::Threads::plain;
      return testing::run_with(plan_, testing::request_for(run_dir, fs::exists(run_dir / "state.db")), library,
                               recording, options);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(draw.below(60000)));  // the moment that is drawn
    // Only what was told before: the kernel lets a sync that is under way succeed though what it synced is lost.
    told = std::max(told, child.told());
    disk.take_power_away();
    int code = child.end();
    disk.mount_again();
    bool there = fs::exists(run_dir / "state.db");
    std::string wrong;
    if (code != 0 && code != static_cast<int>(ExitCode::person_must_act)) wrong = "exit code " + std::to_string(code);
    if (!there && told >= 0) wrong = "the run is gone";
    if (there) {
      Step committed = RunReader(run_dir).run().committed;
      // "opened" told the last step that was there, or 0 of a new run, whose step 0 was still to come.
      if (committed < told && told > 0) {
        wrong = "step " + std::to_string(told) + " was told, the store has " + std::to_string(committed);
      }
      PosixFiles files;
      FsckReport report = fsck(files, run_dir, true);
      if (!report.problems.empty()) wrong = report.problems.front();
    }
    if (code == 0 || !wrong.empty()) {  // done, or to be looked at: the next begins anew
      ++ended;
      if (wrong.empty()) wrong = testing::go_on_and_compare(plan_, run_dir, whole_);
      fs::remove_all(run_dir);
      told = -1;
    } else {
      ++lost;
      without_run += there ? 0 : 1;
    }
    failures += wrong.empty() ? 0 : 1;
    EXPECT_EQ(wrong, "") << "after " << lost << " losses";
  }
  EXPECT_EQ(testing::go_on_and_compare(plan_, run_dir, whole_), "");
  std::printf("ext4: power lost %d times in a run (%d before it was born), %d runs ended, %d failures\n", lost,
              without_run, ended, failures);
  EXPECT_GE(lost, wanted);
}

}  // namespace
}  // namespace rlflow
