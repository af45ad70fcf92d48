// How a batch of responses is judged by the workers of a program: who is asked what, and what becomes of failures.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "nodes/reward/reward.h"
#include "nodes/reward/worker_slot.h"

namespace rlflow {

struct ExecLimits {
  std::int64_t startup_ms = 10'000;  // more time for a worker's first batch
  std::int64_t recycle_samples = 1000;
  std::uint64_t recycle_bytes = std::uint64_t{512} << 20;
  std::uint64_t output_bytes = std::uint64_t{64} << 20;  // that a worker may print
  std::size_t processes = 256;                           // of one worker at once
};

struct WorkerCommand {
  std::string host;
  reward_host::HostOptions options;
  ExecLimits limits;
  std::size_t batch = 1;
};

// One call of judge, in one thread. Failures within a batch are of nobody: its responses are asked again one by one,
// and only who fails alone has failed. Once kGiveUpAfter responses have failed for good and none has been judged, the
// others are not asked. A worker that fails is ended with everything that descends from it.
class JudgingLoop {
 public:
  JudgingLoop(const WorkerCommand& command, std::span<WorkerSlot> slots, std::span<const RewardRequest> requests,
              const Judging& how);
  // Throws TaskStopped, and std::runtime_error where no worker can be started. Workers in the middle of a batch are
  // then ended; all others stay for the next call.
  Judgement run();

  static constexpr std::int64_t kGiveUpAfter = 8;

 private:
  using Clock = std::chrono::steady_clock;

  void loop();
  void assign(WorkerSlot& slot);
  void make_ready(WorkerSlot& slot);
  void wait();
  void serve(WorkerSlot& slot, bool may_send, bool has_replies, bool has_reports);
  bool take_reports(WorkerSlot& slot);  // false: the host is gone
  void take_replies(WorkerSlot& slot);
  void take_line(WorkerSlot& slot, std::string_view line);
  void fail_batch(WorkerSlot& slot, VerdictKind kind, const std::string& why);
  void fail(std::size_t request, const RewardVerdict& verdict);
  void settle(std::size_t request, RewardVerdict verdict);
  void warn(const std::string& text);

  const WorkerCommand& command_;
  std::span<WorkerSlot> slots_;
  std::span<const RewardRequest> requests_;
  const Judging& how_;
  std::int64_t timeout_ms_;
  std::deque<std::vector<std::size_t>> waiting_;  // batches, by index of request
  std::vector<std::int32_t> failures_;            // of each request
  std::size_t settled_ = 0;
  std::int64_t judged_ = 0;
  std::int64_t failed_ = 0;
  Judgement judgement_;
};

// What a worker printed last and how it ended, for a person: one line of printable text.
std::string last_words(const WorkerReport& report);

}  // namespace rlflow
