// How independent pieces of one task run on the threads of its group.
#include "nodes/model/lanes.h"

#include <omp.h>

#include <exception>
#include <vector>

namespace rlflow {

void run_lanes(std::int64_t count, std::int32_t threads, const std::function<void(std::int64_t)>& body) {
  if (count == 1) return body(0);  // outside a parallel region, so that the body may open one
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
      failures[static_cast<std::size_t>(i)] = std::current_exception();
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace rlflow
