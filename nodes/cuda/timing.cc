// Where the time of a stream goes, by phases.
#include "nodes/cuda/timing.h"

namespace rlflow::cuda {

void PhaseTimer::mark(const std::string& phase, const Stream& stream) {
  if (phases_.size() == events_.size()) events_.push_back(std::make_unique<Event>());
  events_[phases_.size()]->record(stream);
  phases_.push_back(phase);
}

std::map<std::string, double> PhaseTimer::take() {
  std::map<std::string, double> milliseconds;
  if (!phases_.empty()) events_[phases_.size() - 1]->synchronize();
  for (std::size_t i = 1; i < phases_.size(); ++i) {
    milliseconds[phases_[i]] += static_cast<double>(events_[i]->milliseconds_since(*events_[i - 1]));
  }
  phases_.clear();
  return milliseconds;
}

}  // namespace rlflow::cuda
