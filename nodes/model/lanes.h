// How independent pieces of one task run on the threads of its group.
#pragma once

#include <cstdint>
#include <functional>

namespace rlflow {

// Calls body(0) … body(count-1), up to `threads` at once, and returns when all are done. Which thread runs which
// piece is not fixed, so a piece may depend on its index alone. If some throw, the exception of the lowest index
// is passed on, after all have ended.
void run_lanes(std::int64_t count, std::int32_t threads, const std::function<void(std::int64_t)>& body);

}  // namespace rlflow
