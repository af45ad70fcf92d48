// What `plan` says of batches, bytes, memory and time, as text of at most 100 columns.
#pragma once

#include <string>
#include <vector>

#include "cli/planning/found_machine.h"
#include "cli/planning/plan_memory.h"
#include "cli/planning/plan_time.h"

namespace rlflow {

struct PlanFigures {
  std::vector<ModelFacts> models;
  PlanSizes sizes;
  std::vector<DeviceNeed> memory;
  PlanTime time;
};
PlanFigures figures_of(const Plan& plan, const Cluster& cluster);

// How an update cuts its batch; absent where the batch is not known.
struct Cutting {
  std::int64_t batch = 0, minibatch = 0, epochs = 1, optimizer_steps = 0;  // over all ranks
  std::int64_t ranks = 1, rows_a_rank = 0;                                 // of a minibatch
  std::optional<std::int64_t> tokens_a_rank;                               // at most
  std::optional<std::int64_t> micro_batches;                               // at most, a rank and minibatch
};
std::optional<Cutting> cutting_of(const PlanNode& node, const NodeSize& size);

std::string machine_text(const Machine& machine);
std::string figures_text(const Plan& plan, const PlanFigures& figures);
std::string devices_text(const PlanGroup& group);  // "gpu[0..8]", "cpu"
std::string seconds_text(double seconds);          // "1.2 s", "35 ms"

}  // namespace rlflow
