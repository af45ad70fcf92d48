// What every update shares: how a batch is cut into optimizer steps, how each is taken, what is reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nodes/model/language_model.h"
#include "runtime/contract/attributes.h"
#include "runtime/contract/node.h"

namespace rlflow {

struct UpdateCut {
  std::int64_t epochs = 1;
  std::int64_t minibatch = 0;  // sequences of one optimizer step; 0: the whole batch
  std::int64_t micro = 0;      // rows of one pass
};
UpdateCut update_cut(const Attributes& settings, DeviceKind device);

// The minibatches of one epoch over `sequences`: consecutive cuts of a Philox permutation by (seed, step, epoch), each
// in ascending order; the last may be short. Without `minibatch` the batch itself.
std::vector<std::vector<std::int64_t>> minibatches(std::int64_t sequences, const UpdateCut& cut, std::uint64_t run_seed,
                                                   Step step, std::int64_t epoch);

// Takes the optimizer steps of one update and gathers what is reported of them.
class UpdateLoop {
 public:
  explicit UpdateLoop(LanguageModel& model) : model_(model) {}

  // One planned optimizer step. It is skipped, and nothing changes, where the loss or the gradient is not finite.
  void step(double loss, const float* gradient, const std::map<std::string, double>& metrics);

  // Metrics are means over the planned steps (loss, grad_norm and those given to `step`), lr that of the last;
  // outputs Metrics.
  TaskResult finish() const;

  std::int64_t planned() const { return outcome_.planned; }

 private:
  LanguageModel& model_;
  UpdateOutcome outcome_;
  std::map<std::string, double> sums_;
  double learning_rate_ = 0;
};

}  // namespace rlflow
