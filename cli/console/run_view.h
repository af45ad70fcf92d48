// What is known of a run in progress: events in, a state that can be drawn out. No clock, no terminal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/contract/run_api.h"

namespace rlflow {

struct NodeView {
  std::string name;
  bool scheduled = false;  // of an `every` block: its metrics are evaluations, not those of the step
  std::int32_t round = 0;  // of a refill: its metrics are of a part of the step's batch
  enum class State { waiting, running, done } state = State::waiting;
  Step step = 0;
  std::int64_t done = 0;  // progress of a running task in its own unit; total 0: not told
  std::int64_t total = 0;
  double milliseconds = 0;  // of the last finished task
  std::int32_t failures = 0;
};

// The values of one metric over the steps of this process, oldest first.
struct Curve {
  std::vector<double> values;
  Step step = 0;  // of the last value
};

struct RunView {
  std::string flow;
  std::string run_dir;
  Step first = 0;  // last committed step when this process began
  Step committed = 0;
  Step total = 0;
  std::vector<NodeView> nodes;
  Curve reward, length, accuracy;
  std::map<std::string, double> latest;  // "<node>.<metric>" of the newest committed step, evaluations left out
  std::optional<Sample> sample;
  std::vector<double> step_milliseconds;  // the newest steps, at most kStepsTimed
  std::vector<std::string> warnings;
  std::string doing;  // "redoing update 3 of 9": shown before the first step

  static constexpr std::size_t kStepsTimed = 10;
};

RunView new_view(const Plan& plan);
void apply(RunView& view, const RunEvent& event);

// Mean over the newest steps; 0 before the first.
double seconds_per_step(const RunView& view);
// Newest value of a metric by its name, whatever node it belongs to.
std::optional<double> latest(const RunView& view, const std::string& metric);

}  // namespace rlflow
