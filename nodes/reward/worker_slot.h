// A place for one worker at a time, and what was asked of the one that is there.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nodes/reward/worker.h"

namespace rlflow {

struct WorkerSlot {
  struct Asked {
    std::uint64_t id = 0;
    std::size_t request = 0;
  };

  std::unique_ptr<Worker> worker;  // null: the next batch starts one
  std::uint64_t last_id = 0;       // of all workers of this slot: no late reply fits a later question
  std::int64_t served = 0;         // responses that this worker was asked
  std::string outgoing;            // of the batch, not yet sent
  std::string incoming;            // not yet a whole line
  std::vector<Asked> asked;        // without a reply so far; empty: idle
  std::size_t batch = 0;           // how many were asked together
  bool first_batch = false;        // of this worker
  std::chrono::steady_clock::time_point deadline;

  bool busy() const { return !asked.empty(); }
  void drop_worker() {
    worker.reset();
    outgoing.clear();
    incoming.clear();
    asked.clear();
    served = 0;
  }
};

}  // namespace rlflow
