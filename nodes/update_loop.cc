// Epochs, minibatches and micro-batches of one update, and its optimizer steps.
#include "nodes/update_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nodes/batches.h"
#include "nodes/model/passes.h"
#include "runtime/contract/philox.h"

namespace rlflow {

UpdateCut update_cut(const Attributes& settings, DeviceKind device) {
  UpdateCut cut;
  cut.epochs = int_at(settings, "epochs");
  cut.minibatch = has(settings, "minibatch") ? int_at(settings, "minibatch") : 0;
  cut.micro = has(settings, "micro") ? int_at(settings, "micro") : chunk_rows(device);
  cut.recompute = has(settings, "recompute") && bool_at(settings, "recompute");
  return cut;
}

std::vector<std::vector<std::int64_t>> minibatches(std::int64_t sequences, const UpdateCut& cut, std::uint64_t run_seed,
                                                   Step step, std::int64_t epoch) {
  if (sequences == 0) return {};
  if (cut.minibatch == 0 || cut.minibatch >= sequences) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(sequences));
    std::iota(all.begin(), all.end(), 0);
    return {std::move(all)};
  }
  const std::uint64_t key =
      h64(RandomPurpose::minibatch, {run_seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(epoch)});
  const std::vector<std::int64_t> order = permutation(sequences, PhiloxStream(key));
  std::vector<std::vector<std::int64_t>> cuts;
  for (std::int64_t begin = 0; begin < sequences; begin += cut.minibatch) {
    const std::int64_t end = std::min(begin + cut.minibatch, sequences);
    cuts.emplace_back(order.begin() + begin, order.begin() + end);
    std::sort(cuts.back().begin(), cuts.back().end());
  }
  return cuts;
}

void UpdateLoop::step(double loss, const float* gradient, const std::map<std::string, double>& metrics) {
  ++outcome_.planned;
  double norm = std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(loss)) {
    const AdamWStep taken = model_.apply(gradient);
    outcome_.applied += taken.applied ? 1 : 0;
    norm = taken.gradient_norm;
    learning_rate_ = taken.learning_rate;
  }
  sums_["loss"] += loss;
  sums_["grad_norm"] += norm;
  for (const auto& [name, value] : metrics) sums_[name] += value;
}

TaskResult UpdateLoop::finish(const std::map<std::string, double>& more) const {
  const auto planned = static_cast<double>(std::max<std::int64_t>(1, outcome_.planned));
  auto metrics = std::make_shared<Metrics>();
  std::map<std::string, double> values = sums_;
  for (auto& [name, value] : values) value /= planned;
  if (outcome_.planned > 0) values["lr"] = learning_rate_;
  values["optimizer_steps"] = static_cast<double>(outcome_.applied);
  values.insert(more.begin(), more.end());
  metrics->values.assign(values.begin(), values.end());
  TaskResult result;
  for (const auto& [name, value] : values) result.metrics.push_back({name, value});
  result.outputs = {std::move(metrics)};
  result.update = outcome_;
  return result;
}

}  // namespace rlflow
