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

void Team::run(std::int32_t threads, const std::function<void(const Member&)>& body) {
  if (threads <= 1) return body({*this, 0, 1});
#pragma omp parallel num_threads(threads)
  body({*this, omp_get_thread_num(), omp_get_num_threads()});
}

void Team::wait(std::int64_t count) {
  if (count == 1) return;
  const std::int32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  // The others come within microseconds, unless somebody else has their core: then this thread sleeps.
  constexpr int kSpins = 10'000;
  for (int spins = 0; spins < kSpins; ++spins) {
    if (round_.load(std::memory_order_acquire) != round) return;
  }
  while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
}

}  // namespace rlflow
