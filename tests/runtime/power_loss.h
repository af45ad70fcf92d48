// What does a power loss at any moment of a run leave, and is it what was promised?
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/runtime/disk_image.h"

namespace rlflow::testing {

struct PowerLossReport {
  std::int64_t tried = 0;
  std::vector<std::string> failures;
};

// One folder, one plan: a run is recorded, then the power goes at each operation of it.
class PowerLoss {
 public:
  PowerLoss(const Plan& plan, std::filesystem::path base);

  // Runs (or resumes what lies in `recorded()`) and records what reaches the disk and what is told to the user.
  // `left_out`: syncs that a broken store would not make.
  std::vector<DiskOp> record(EngineOptions::Threads threads, std::function<bool(const DiskOp&)> left_out = {});
  std::filesystem::path recorded() const { return base_ / "recorded"; }

  // After each operation that changed what is durable, and `random` more times with what chance keeps: what was told
  // is there, every file that a row names is whole, and the run goes on to the end of the undisturbed one.
  // `start` is the disk at the first operation.
  PowerLossReport lose_power(const std::vector<DiskOp>& ops, DiskImage start, int random);
  DiskImage empty_disk() const { return DiskImage(recorded()); }

 private:
  std::string wrong_after_loss(const std::map<std::string, Step>& told);
  const Plan& plan_;
  std::filesystem::path base_;
  std::map<std::string, std::string> whole_;
};

}  // namespace rlflow::testing
