// Recording a run and taking its power away.
#include "tests/runtime/power_loss.h"

#include <gtest/gtest.h>

#include "runtime/store/fsck.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/run_reader.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/run_trace.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

// What was told to the user by now, as a count for each sort: "opened", "step".
void hear(const DiskOp& op, std::map<std::string, Step>& told) {
  if (op.kind != DiskOp::Kind::note) return;
  std::size_t space = op.text.find(' ');
  told[op.text.substr(0, space)] = std::stoll(op.text.substr(space));
}

std::string first_damage(const fs::path& run_dir) {
  PosixFiles files;
  FsckReport report = fsck(files, run_dir, true);
  return report.problems.empty() ? std::string() : "before the resume: " + report.problems.front();
}

}  // namespace

PowerLoss::PowerLoss(const Plan& plan, fs::path base) : plan_(plan), base_(std::move(base)) {
  run_fake(plan_, base_ / "whole");
  whole_ = trace_of(base_ / "whole");
  fs::create_directory(recorded());
}

std::vector<DiskOp> PowerLoss::record(EngineOptions::Threads threads, std::function<bool(const DiskOp&)> left_out) {
  RecordedDisk disk(recorded());
  disk.left_out = std::move(left_out);
  FakeLibrary library;
  Recording recording;
  recording.then = [&disk](const RunEvent& event) {
    if (event.type == RunEvent::Type::opened) disk.note("opened " + std::to_string(event.step));
    if (event.type == RunEvent::Type::step_committed) disk.note("step " + std::to_string(event.step));
  };
  EngineOptions options;
  options.threads = threads;
  options.files = &disk.files();
  fs::path run_dir = recorded() / "runs" / "run";  // runs/ is made too
  Outcome outcome =
      run_with(plan_, request_for(run_dir, fs::exists(run_dir / kDatabaseName)), library, recording, options);
  EXPECT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  return disk.ops();
}

std::string PowerLoss::wrong_after_loss(const std::map<std::string, Step>& told) {
  fs::path run_dir = base_ / "lost" / "runs" / "run";
  try {
    if (!fs::exists(run_dir / kDatabaseName)) {
      if (told.contains("opened")) return "the run is gone";
    } else {
      Step step = RunReader(run_dir).run().committed;
      if (told.contains("step") && step < told.at("step")) {
        return "step " + std::to_string(told.at("step")) + " was told, the store has " + std::to_string(step);
      }
      std::string damage = first_damage(run_dir);
      if (!damage.empty()) return damage;
    }
  } catch (const StoreError& error) {
    return error.what();
  }
  return go_on_and_compare(plan_, run_dir, whole_);
}

PowerLossReport PowerLoss::lose_power(const std::vector<DiskOp>& ops, DiskImage disk, int random) {
  PowerLossReport report;
  std::map<std::string, Step> told;
  Draw draw{99};
  std::uint64_t changes = disk.durable_changes();
  const int stride = random > 0 ? std::max<int>(1, static_cast<int>(ops.size()) / random) : 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    bool durable_ahead = false;
    if (i + 1 < ops.size()) {
      DiskOp::Kind next = ops[i + 1].kind;
      durable_ahead = next == DiskOp::Kind::sync || next == DiskOp::Kind::sync_folder;
    }
    disk.apply(ops[i]);
    hear(ops[i], told);
    auto lose = [&](bool by_chance) {
      if (by_chance) {
        disk.save_random(base_ / "lost", draw);
      } else {
        disk.save_durable(base_ / "lost");
      }
      ++report.tried;
      std::string wrong = wrong_after_loss(told);
      if (wrong.empty()) return;
      report.failures.push_back("after operation " + std::to_string(i) + ", " + to_text(ops[i]) +
                                (by_chance ? " (by chance): " : ": ") + wrong);
    };
    // The last moment before the durable part changes again has the most to keep.
    if ((durable_ahead && disk.durable_changes() != changes) || i + 1 == ops.size()) {
      changes = disk.durable_changes();
      lose(false);
    }
    if (stride > 0 && draw.below(stride) == 0) lose(true);
  }
  return report;
}

}  // namespace rlflow::testing
