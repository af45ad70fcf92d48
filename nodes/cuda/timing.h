// Where the time of a stream goes, by phases.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// Each mark ends a phase that began with the mark before. Costs an event a mark; the stream is not held up.
class PhaseTimer {
 public:
  void mark(const std::string& phase, const Stream& stream);
  // Milliseconds of each phase since the last call. Waits for the last mark.
  std::map<std::string, double> take();

 private:
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::string> phases_;  // that the event of this number ends
};

}  // namespace rlflow::cuda
