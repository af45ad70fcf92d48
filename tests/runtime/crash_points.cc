// Children that die at a counted point.
#include "tests/runtime/crash_points.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/store/failpoint.h"
#include "runtime/store/fsck.h"
#include "tests/runtime/recorded_disk.h"
#include "tests/runtime/run_trace.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

// Works with `at_point` called at each point.
Outcome work_counted(const fs::path& base, const Work& work, const std::function<void(const std::string&)>& at_point) {
  RecordedDisk disk(base);
  disk.before = [&](const DiskOp& op) {
    at_point(to_text(op));
    return Fate::pass;
  };
  failpoint_control().reached = at_point;
  Outcome outcome = work(disk.files());
  failpoint_control().reached = nullptr;
  return outcome;
}

Work running(const Plan& plan, const fs::path& run_dir, bool resume) {
  return [=, &plan](FileLayer& files) {
    FakeLibrary library;
    Recording recording;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    options.files = &files;
    return run_with(plan, request_for(run_dir, resume), library, recording, options);
  };
}

}  // namespace

std::vector<std::string> points_of(const fs::path& base, const Work& work) {
  std::vector<std::string> points;
  Outcome outcome = work_counted(base, work, [&](const std::string& name) { points.push_back(name); });
  EXPECT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  return points;
}

bool die_at(const fs::path& base, const Work& work, std::int64_t number) {
  pid_t child = fork();
  if (child == 0) {
    std::int64_t reached = 0;
    Outcome outcome = work_counted(base, work, [&](const std::string&) {
      if (++reached == number) kill(getpid(), SIGKILL);
    });
    if (outcome.code != ExitCode::yes) std::fprintf(stderr, "%s\n", outcome.message.c_str());
    _exit(static_cast<int>(outcome.code));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

std::vector<std::string> points_of(const Plan& plan, const fs::path& run_dir, bool resume) {
  return points_of(run_dir.parent_path(), running(plan, run_dir, resume));
}

bool die_at(const Plan& plan, const fs::path& run_dir, bool resume, std::int64_t number) {
  return die_at(run_dir.parent_path(), running(plan, run_dir, resume), number);
}

std::string go_on_and_compare(const Plan& plan, const fs::path& run_dir,
                              const std::map<std::string, std::string>& whole) {
  bool resume = fs::exists(run_dir / "state.db");
  Outcome outcome = run_fake(plan, run_dir, resume);
  if (outcome.code != ExitCode::yes) return "it did not end: " + outcome.message;
  return wrong_at_end(run_dir, whole);
}

std::string wrong_at_end(const fs::path& run_dir, const std::map<std::string, std::string>& whole) {
  PosixFiles files;
  FsckReport report = fsck(files, run_dir, true);
  if (!report.problems.empty()) return "fsck: " + report.problems.front();
  if (!report.leftovers.empty()) return "left over: " + report.leftovers.front().string();
  std::map<std::string, std::string> here = trace_of(run_dir);
  if (here == whole) return {};
  for (const auto& [name, value] : whole) {
    if (here[name] != value) return name + " is `" + here[name] + "`, not `" + value + "`";
  }
  return "it has more than the whole run";
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

}  // namespace rlflow::testing
