// One response as a person reads it: prompt, text, and its number where there is one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/contract/metric.h"
#include "runtime/contract/payload.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Response `index` of the trajectories among the outputs, else among the inputs; nullopt where there are none. A reward
// or an advantage of one number a response among the outputs comes with it. Throws std::runtime_error where there are
// fewer responses.
std::optional<Sample> sample_at(const Plan& plan, NodeId node, const std::vector<PayloadPtr>& inputs,
                                const std::vector<PayloadPtr>& outputs, std::int64_t index);

}  // namespace rlflow
