// Does every promise hold when the power goes, and does this test notice each way to break them?
#include <gtest/gtest.h>

#include "runtime/store/failpoint.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/power_loss.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::DiskImage;
using testing::DiskOp;
using testing::long_size;
using testing::PowerLoss;
using testing::PowerLossReport;
using Kind = testing::DiskOp::Kind;
using Threads = EngineOptions::Threads;

Plan small_plan() {
  testing::PlanShape shape;
  shape.steps = long_size() ? 6 : 3;
  shape.checkpoint_every = 1;
  shape.critic = long_size();
  return testing::fake_plan(shape);
}

bool below(const DiskOp& op, const char* folder) { return op.path.string().find(folder) != std::string::npos; }

class PowerLossTest : public ::testing::Test {
 protected:
  void TearDown() override { failpoint_control().off = nullptr; }
  void expect_none(const char* what, const PowerLossReport& report) {
    std::printf("%s: power lost %lld times, %zu failures\n", what, static_cast<long long>(report.tried),
                report.failures.size());
    EXPECT_GT(report.tried, 20);
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
  }
  // A broken build must be found; says how.
  void expect_caught(const char* what, const PowerLossReport& report) {
    std::printf("%s: caught %zu times of %lld", what, report.failures.size(), static_cast<long long>(report.tried));
    if (!report.failures.empty()) std::printf(", first %s", report.failures.front().c_str());
    std::printf("\n");
    EXPECT_FALSE(report.failures.empty()) << what << " was not noticed";
  }

  testing::ScratchFolder folder_{"power"};
  Plan plan_ = small_plan();
  PowerLoss power_{plan_, fs::canonical(folder_.path())};
};

TEST_F(PowerLossTest, AtEachOperationOfARun) {
  std::vector<DiskOp> ops = power_.record(Threads::seeded);
  expect_none("one thread", power_.lose_power(ops, power_.empty_disk(), long_size() ? 2000 : 150));
}

TEST_F(PowerLossTest, AtEachOperationOfARunWithItsWriterThread) {
  std::vector<DiskOp> ops = power_.record(Threads::plain);
  expect_none("writer thread", power_.lose_power(ops, power_.empty_disk(), long_size() ? 2000 : 50));
}

TEST_F(PowerLossTest, AtEachOperationOfARecovery) {
  // What a kill in the middle left, with nothing but what was durable then.
  std::vector<DiskOp> ops = power_.record(Threads::seeded);
  DiskImage disk = power_.empty_disk();
  for (std::size_t i = 0; i < ops.size() * 2 / 3; ++i) disk.apply(ops[i]);
  disk.save_durable(power_.recorded());
  std::vector<DiskOp> recovery = power_.record(Threads::seeded);
  expect_none("recovery", power_.lose_power(
                              recovery,
                              [&] {
                                disk.save_durable(power_.recorded());
                                return DiskImage(power_.recorded(), true);
                              }(),
                              long_size() ? 1000 : 50));
}

// What a killed process left counts for nothing until it is durable: the next process publishes it again.
TEST_F(PowerLossTest, AfterAKillBetweenRenameAndFolderSync) {
  std::vector<DiskOp> ops = power_.record(Threads::seeded);
  DiskImage disk = power_.empty_disk();
  std::size_t at = ops.size() / 2;
  while (ops[at].kind != Kind::rename) ++at;
  // The kill keeps everything that was done; none of it is durable by that.
  for (std::size_t i = 0; i <= at; ++i) disk.apply(ops[i]);
  disk.save_now(power_.recorded());
  std::vector<DiskOp> recovery = power_.record(Threads::seeded);
  expect_none("kill, then power loss", power_.lose_power(recovery, disk, long_size() ? 500 : 20));
}

// --- controls: builds that are broken in one place each ---

TEST_F(PowerLossTest, CatchesAFileThatIsNotSynced) {
  auto ops =
      power_.record(Threads::seeded, [](const DiskOp& op) { return op.kind == Kind::sync && below(op, "/tmp/"); });
  expect_caught("without the file sync", power_.lose_power(ops, power_.empty_disk(), 0));
}

TEST_F(PowerLossTest, CatchesAFolderThatIsNotSynced) {
  auto ops = power_.record(Threads::seeded,
                           [](const DiskOp& op) { return op.kind == Kind::sync_folder && below(op, "/artifacts"); });
  expect_caught("without the folder sync", power_.lose_power(ops, power_.empty_disk(), 0));
}

TEST_F(PowerLossTest, CatchesSynchronousNormal) {
  failpoint_control().off = [](Safeguard safeguard) { return safeguard == Safeguard::full_sync; };
  auto ops = power_.record(Threads::seeded);
  failpoint_control().off = nullptr;
  expect_caught("synchronous=NORMAL", power_.lose_power(ops, power_.empty_disk(), 0));
}

// The same operations as a store would make them that commits first and syncs its files after.
TEST_F(PowerLossTest, CatchesACommitBeforeItsFiles) {
  std::vector<DiskOp> ops, late;
  for (DiskOp& op : power_.record(Threads::seeded)) {
    bool of_artifact = below(op, "/tmp/") || below(op, "/artifacts");
    bool published = op.kind == Kind::sync || op.kind == Kind::rename || op.kind == Kind::sync_folder;
    if (of_artifact && published) {
      late.push_back(op);
      continue;
    }
    ops.push_back(op);
    if (op.kind != Kind::sync || !below(op, "state.db")) continue;
    ops.insert(ops.end(), late.begin(), late.end());
    late.clear();
  }
  expect_caught("commit before its files", power_.lose_power(ops, power_.empty_disk(), 0));
}

}  // namespace
}  // namespace rlflow
