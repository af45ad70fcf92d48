// How long would a step take? An estimate, and a floor: the time of programs that reach the machine's rates.
//
// With Nd = matrices of the layers + V h, F matrix products and BW bytes a second of all tp devices of a rank, k =
// 2 L kv d bytes of cache a token, S the mean context, B sequences at once:
//   decode    t_step = max(d Nd / BW, 2 Nd B / F) + max(B S k / BW, 4 L q S B / F), tokens of a rank / B times
//   prefill and passes   N (2 Nd + 4 L q S / 2) / F for N tokens
//   update    three times that, each epoch, and 28 bytes a trained parameter through BW at each optimizer step
//   sync      bytes / link; offloaded weights: bytes / host link
// Lengths are nominal (half of the bounds, plan_sizes.h). Not estimated: reward functions, host nodes, checkpoints.
#pragma once

#include <optional>
#include <vector>

#include "cli/planning/plan_sizes.h"
#include "runtime/contract/cluster.h"

namespace rlflow {

struct PlanTime {
  std::vector<std::optional<double>> nodes;  // seconds of one execution
  std::vector<std::optional<double>> syncs;  // seconds of one, one a replica
  std::optional<double> step;                // a usual step: groups in turn, or side by side where every sync has lag
  bool overlapped = false;
  bool complete = true;  // false: a model, a length or a rate is not known, and the step is longer
};

PlanTime time_of(const Plan& plan, const std::vector<ModelFacts>& models, const PlanSizes& sizes,
                 const Cluster& cluster);

// Seconds of one decode step of B sequences with `context` tokens each, at `flops` and `bandwidth`.
double decode_step_seconds(const ModelConfig& shape, double sequences, double context, double dtype_bytes, double flops,
                           double bandwidth);

}  // namespace rlflow
