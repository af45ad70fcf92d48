// How independent pieces of one task run on the threads of its group.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace rlflow {

// Calls body(0) … body(count-1), up to `threads` at once, and returns when all are done. Which thread runs which
// piece is not fixed, so a piece may depend on its index alone. If some throw, the exception of the lowest index
// is passed on, after all have ended.
void run_lanes(std::int64_t count, std::int32_t threads, const std::function<void(std::int64_t)>& body);

// Threads that do one piece of work together, each its part of every step of it.
class Team {
 public:
  // Which of how many one thread is.
  struct Member {
    Team& team;
    std::int64_t index = 0, count = 1;

    // Returns when all have come here, and sees what they wrote before.
    void wait() const { team.wait(count); }
    // Its share of `pieces`, as even as can be: [first, last).
    std::int64_t first(std::int64_t pieces) const { return pieces * index / count; }
    std::int64_t last(std::int64_t pieces) const { return pieces * (index + 1) / count; }
  };

  // Calls body once on each of at most `threads` threads and returns when all have. All bodies must wait equally often.
  // Must not be called inside run_lanes, nor throw.
  void run(std::int32_t threads, const std::function<void(const Member&)>& body);

 private:
  void wait(std::int64_t count);

  std::atomic<std::int32_t> arrived_ = 0, round_ = 0;
};

}  // namespace rlflow
