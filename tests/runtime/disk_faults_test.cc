// A disk that refuses: each operation of a run, and of a recovery, fails in turn. Does the run stop and say so, and
// does it go on to the same bits once the disk is well again?
#include <gtest/gtest.h>

#include <map>

#include "tests/runtime/crash_points.h"
#include "tests/runtime/recorded_disk.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::DiskOp;
using testing::Fate;
using testing::RecordedDisk;
using Kind = testing::DiskOp::Kind;

const char* name_of(Fate fate) {
  switch (fate) {
    case Fate::pass: return "passes";
    case Fate::io_error: return "fails with EIO";
    case Fate::no_space: return "finds no space";
    case Fate::torn: return "is torn";
  }
  return "?";
}

struct Fault {
  std::size_t number = 0;  // of the operation, counted from 1; 0: none
  Fate fate = Fate::pass;
  bool for_good = false;  // every later operation that needs space or a working disk fails too
};

class DiskFaults : public ::testing::Test {
 protected:
  static Plan small_plan() {
    testing::PlanShape shape;
    shape.steps = testing::long_size() ? 5 : 3;
    shape.checkpoint_every = 1;
    shape.critic = testing::long_size();
    return testing::fake_plan(shape);
  }
  void SetUp() override {
    ASSERT_EQ(testing::run_fake(plan_, base_ / "whole").code, ExitCode::yes);
    whole_ = testing::trace_of(base_ / "whole");
  }

  // Runs or resumes with that fault; `done` gets the operations up to the end.
  Outcome run(const fs::path& run_dir, const Fault& fault, std::vector<DiskOp>* done = nullptr) {
    RecordedDisk disk(base_ / "disk");
    std::size_t reached = 0;
    disk.before = [&](const DiskOp& op) {
      if (op.kind == Kind::note) return Fate::pass;
      ++reached;
      if (done) done->push_back(op);
      bool hit = fault.number > 0 && (fault.for_good ? reached >= fault.number : reached == fault.number);
      return hit && op.kind != Kind::remove ? fault.fate : Fate::pass;
    };
    testing::FakeLibrary library;
    testing::Recording recording;
    EngineOptions options;
    options.threads = EngineOptions::Threads::seeded;
    options.files = &disk.files();
    bool resume = fs::exists(run_dir / "state.db");
    return testing::run_with(plan_, testing::request_for(run_dir, resume), library, recording, options);
  }

  // SQLite passes over a folder of its own that cannot be synced once; the store syncs that folder besides.
  static bool synced_again(const Fault& fault, const DiskOp& op) {
    bool of_database = op.path.filename() == "run" || op.path.filename().string().starts_with(".run.new-");
    return of_database && !fault.for_good;
  }

  // What is wrong with a run that met the fault; empty if it stopped and said so, or did without the operation, and
  // is the undisturbed run in the end.
  std::string wrong_after(const Fault& fault, const DiskOp& op) {
    fs::path run_dir = base_ / "disk" / "run";
    Outcome outcome = run(run_dir, fault);
    if (outcome.code == ExitCode::yes) {
      // A sync that failed is never passed over: what it was to make durable may be gone.
      ++done_without_;
      if (op.kind == Kind::sync || (op.kind == Kind::sync_folder && !synced_again(fault, op))) return "the run went on";
    } else {
      ++stopped_;
      if (outcome.code != ExitCode::person_must_act) return "it is no stop for a person: " + outcome.message;
      if (outcome.code_id != "R0206") return "it is called " + outcome.code_id + ": " + outcome.message;
      if (outcome.message.find(base_.string()) == std::string::npos) return "no path: " + outcome.message;
      if (outcome.help.empty()) return "no next action: " + outcome.message;
    }
    return testing::go_on_and_compare(plan_, run_dir, whole_);
  }

  void report(const char* what) {
    std::printf("%s: %d faults, %d stopped the run, %d were done without, %d failures\n", what,
                stopped_ + done_without_, stopped_, done_without_, failures_);
  }

  // Each operation in `ops` fails in turn, starting from the folder as it lies in `start` (none: from nothing). In
  // default size every sync, and every seventeenth of the other faults.
  void fail_each(const std::vector<DiskOp>& ops, const fs::path& start) {
    for (std::size_t number = 1; number <= ops.size(); ++number) {
      const DiskOp& op = ops[number - 1];
      if (op.kind == Kind::remove) continue;
      for (Fate fate : {Fate::io_error, Fate::no_space, Fate::torn}) {
        bool writes = op.kind == Kind::write || op.kind == Kind::create || op.kind == Kind::make_folder;
        if (fate == Fate::no_space && !writes) continue;
        if (fate == Fate::torn && op.kind != Kind::write) continue;
        for (bool for_good : {false, true}) {
          bool sync = op.kind == Kind::sync || op.kind == Kind::sync_folder;
          if (!testing::long_size() && !sync && ++passed_over_ % 17 != 0) continue;
          fs::remove_all(base_ / "disk");
          fs::create_directory(base_ / "disk");
          if (!start.empty()) testing::copy_folder(start, base_ / "disk" / "run");
          std::string wrong = wrong_after({number, fate, for_good}, op);
          failures_ += wrong.empty() ? 0 : 1;
          EXPECT_EQ(wrong, "") << "operation " << number << ", " << to_text(op) << ", " << name_of(fate)
                               << (for_good ? " and all after it" : "");
        }
      }
    }
  }

  testing::ScratchFolder folder_{"disk-faults"};
  fs::path base_ = fs::canonical(folder_.path());
  Plan plan_ = small_plan();
  std::map<std::string, std::string> whole_;
  int passed_over_ = 0;
  int stopped_ = 0;
  int done_without_ = 0;
  int failures_ = 0;
};

TEST_F(DiskFaults, AtEachOperationOfARun) {
  fs::create_directory(base_ / "disk");
  std::vector<DiskOp> ops;
  ASSERT_EQ(run(base_ / "disk" / "run", {}, &ops).code, ExitCode::yes);
  fail_each(ops, {});
  report("a run");
  EXPECT_GT(stopped_, 200);
}

TEST_F(DiskFaults, AtEachOperationOfARecovery) {
  // Killed at two thirds of its operations.
  fs::create_directory(base_ / "disk");
  std::vector<std::string> points = testing::points_of(plan_, base_ / "disk" / "counted", false);
  ASSERT_TRUE(testing::die_at(plan_, base_ / "killed", false, static_cast<std::int64_t>(points.size() * 2 / 3)));
  testing::copy_folder(base_ / "killed", base_ / "disk" / "run");
  std::vector<DiskOp> ops;
  ASSERT_EQ(run(base_ / "disk" / "run", {}, &ops).code, ExitCode::yes);
  fail_each(ops, base_ / "killed");
  report("a recovery");
  EXPECT_GT(stopped_, 80);
}

}  // namespace
}  // namespace rlflow
