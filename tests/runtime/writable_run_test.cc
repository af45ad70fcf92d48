// Does everything that changes a run open it with the same care?
#include "runtime/store/writable_run.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/store/collection.h"
#include "runtime/store/retry.h"
#include "tests/runtime/recorded_disk.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::DiskOp;
using testing::Fate;

class Changing : public ::testing::Test {
 protected:
  Changing() { EXPECT_EQ(testing::run_fake(plan_, run_dir_).code, ExitCode::yes); }
  // What opening says, with the disk refusing what `refused` names.
  std::string failure_of(const std::function<void(FileLayer&)>& change,
                         const std::function<bool(const DiskOp&)>& refused) {
    testing::RecordedDisk disk(base_);
    disk.before = [&](const DiskOp& op) { return refused(op) ? Fate::io_error : Fate::pass; };
    try {
      change(disk.files());
    } catch (const StoreError& error) {
      return error.code_id;
    }
    return "it went on";
  }

  testing::ScratchFolder folder_{"changing"};
  fs::path base_ = fs::canonical(folder_.path());
  fs::path run_dir_ = base_ / "run";
  Plan plan_ = testing::fake_plan({});
  std::map<std::string, std::function<void(FileLayer&)>> changes_{
      {"gc", [this](FileLayer& files) { collect_garbage(files, run_dir_, {}, 2, false); }},
      {"retry", [this](FileLayer& files) { reset_failed_tasks(files, run_dir_, {}); }},
      {"resume", [this](FileLayer& files) { WritableRun(files, run_dir_); }},
  };
};

// SQLite passes over a folder that cannot be synced: gc and retry wrote behind a log that a loss of power could take.
TEST_F(Changing, ALogWhoseFolderCannotBeSyncedIsNotWrittenTo) {
  const auto before = testing::trace_of(run_dir_);
  for (const auto& [name, change] : changes_) {
    EXPECT_EQ(failure_of(change,
                         [&](const DiskOp& op) { return op.kind == DiskOp::Kind::sync_folder && op.path == run_dir_; }),
              "R0206")
        << name;
    EXPECT_EQ(testing::trace_of(run_dir_), before) << name;
  }
}

TEST_F(Changing, ARunInUseIsLeftAlone) {
  PosixFiles files;
  RunLock held(files, run_dir_);
  for (const auto& [name, change] : changes_) {
    EXPECT_EQ(failure_of(change, [](const DiskOp&) { return false; }), "R0201") << name;
  }
}

TEST_F(Changing, WhatIsNoRunIsNotMadeOne) {
  run_dir_ = base_ / "nothing";
  for (const auto& [name, change] : changes_) {
    EXPECT_EQ(failure_of(change, [](const DiskOp&) { return false; }), "R0203") << name;
    EXPECT_FALSE(fs::exists(run_dir_)) << name;
  }
}

}  // namespace
}  // namespace rlflow
