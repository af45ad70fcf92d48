// Who is asked next, and what does a reply, a silence or an end mean?
#include "nodes/reward/judging_loop.h"

#include <poll.h>

#include <algorithm>
#include <stdexcept>

#include "nodes/reward/messages.h"
#include "runtime/contract/node.h"

namespace rlflow {
namespace {

constexpr int kLookMilliseconds = 50;   // how often the stop token and deadlines are looked at
constexpr int kEndMilliseconds = 1000;  // from the end of the replies to that of the program

}  // namespace

JudgingLoop::JudgingLoop(const WorkerCommand& command, std::span<WorkerSlot> slots,
                         std::span<const RewardRequest> requests, const Judging& how)
    : command_(command),
      slots_(slots),
      requests_(requests),
      how_(how),
      timeout_ms_(how.timeout_ms > 0 ? how.timeout_ms : kDefaultTimeoutMs),
      failures_(requests.size()) {
  judgement_.verdicts.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i % command.batch == 0) waiting_.emplace_back();
    waiting_.back().push_back(i);
  }
}

Judgement JudgingLoop::run() {
  try {
    loop();
  } catch (...) {
    for (WorkerSlot& slot : slots_) {
      if (slot.busy()) slot.drop_worker();
    }
    throw;
  }
  return std::move(judgement_);
}

void JudgingLoop::loop() {
  while (settled_ < requests_.size()) {
    if (how_.stop.stop_requested()) throw TaskStopped();
    for (WorkerSlot& slot : slots_) {
      if (!slot.busy() && !waiting_.empty()) assign(slot);
    }
    wait();
  }
}

// Leaves a worker that lives, is not due to be recycled, and has nothing to say.
void JudgingLoop::make_ready(WorkerSlot& slot) {
  if (slot.worker) {
    const bool alive = slot.worker->receive(slot.incoming) && slot.worker->read_reports();
    const bool used_up =
        slot.served >= command_.limits.recycle_samples || slot.worker->report().large || !slot.incoming.empty();
    if (!slot.incoming.empty()) warn("it sent a reply that nobody asked for, and was started again");
    if (!alive || used_up) slot.drop_worker();
  }
  slot.first_batch = !slot.worker;
  if (!slot.worker) slot.worker = std::make_unique<Worker>(command_.host, command_.options);
}

void JudgingLoop::assign(WorkerSlot& slot) {
  make_ready(slot);
  const std::vector<std::size_t> batch = std::move(waiting_.front());
  waiting_.pop_front();
  slot.batch = batch.size();
  slot.served += static_cast<std::int64_t>(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    slot.asked.push_back({++slot.last_id, batch[i]});
    slot.outgoing += request_line(slot.last_id, batch.size() - i - 1, requests_[batch[i]]);
  }
  const std::int64_t allowed =
      timeout_ms_ * static_cast<std::int64_t>(batch.size()) + (slot.first_batch ? command_.limits.startup_ms : 0);
  slot.deadline = Clock::now() + std::chrono::milliseconds(allowed);
}

void JudgingLoop::wait() {
  std::vector<pollfd> files;
  std::vector<WorkerSlot*> owners;
  for (WorkerSlot& slot : slots_) {
    if (!slot.busy()) continue;
    files.push_back({slot.outgoing.empty() ? -1 : slot.worker->requests(), POLLOUT, 0});
    files.push_back({slot.worker->replies(), POLLIN, 0});
    files.push_back({slot.worker->reports(), POLLIN, 0});
    owners.push_back(&slot);
  }
  if (owners.empty()) return;
  poll(files.data(), files.size(), kLookMilliseconds);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    serve(*owners[i], files[3 * i].revents != 0, files[3 * i + 1].revents != 0, files[3 * i + 2].revents != 0);
  }
}

void JudgingLoop::serve(WorkerSlot& slot, bool may_send, bool has_replies, bool has_reports) {
  // A program that reads no more has ended or is about to be late: its replies or its silence will tell.
  if (may_send && !slot.worker->send(slot.outgoing)) slot.outgoing.clear();
  if (has_replies) take_replies(slot);
  if (!slot.busy()) return;
  const bool host_lives = !has_reports || take_reports(slot);
  // Only processes that outlived both could still hold the other end of the replies.
  if (!host_lives && !has_replies) return fail_batch(slot, VerdictKind::error, "its host was killed");
  if (Clock::now() < slot.deadline) return;
  const std::string allowed = std::to_string(timeout_ms_) + " ms";
  fail_batch(slot, VerdictKind::timeout, "no reply within " + allowed + (slot.batch > 1 ? " a response" : ""));
}

bool JudgingLoop::take_reports(WorkerSlot& slot) {
  const bool host_lives = slot.worker->read_reports();
  const WorkerReport& report = slot.worker->report();
  if (!report.refused.empty()) throw std::runtime_error(report.refused);
  if (!report.weaker.empty()) {
    warn("it runs in the basic sandbox, since the full one is not possible here (" + report.weaker + ")");
  }
  return host_lives;
}

void JudgingLoop::take_replies(WorkerSlot& slot) {
  const bool open = slot.worker->receive(slot.incoming);
  try {
    std::size_t end = 0;
    while (slot.busy() && (end = slot.incoming.find('\n')) != std::string::npos) {
      const std::string line = slot.incoming.substr(0, end);
      slot.incoming.erase(0, end + 1);
      take_line(slot, line);
    }
    if (slot.incoming.size() > kLongestReply) throw std::runtime_error("a reply longer than 64 KiB");
  } catch (const std::runtime_error& breach) {
    return fail_batch(slot, VerdictKind::error, breach.what());
  }
  if (!slot.busy()) return;
  if (open) return;
  // The end of the replies comes a moment before the host knows how the program ended.
  const bool ended = slot.worker->await_end(kEndMilliseconds);
  fail_batch(slot, VerdictKind::error, ended ? "" : "it closed the descriptor of its replies");
}

void JudgingLoop::take_line(WorkerSlot& slot, std::string_view line) {
  if (line.size() > kLongestReply) throw std::runtime_error("a reply longer than 64 KiB");
  RewardReply reply = read_reply(line);
  auto asked = std::find_if(slot.asked.begin(), slot.asked.end(), [&](const auto& one) { return one.id == reply.id; });
  if (asked == slot.asked.end()) {
    throw std::runtime_error("the reply's `id` " + std::to_string(reply.id) + " is none that was asked");
  }
  const std::size_t request = asked->request;
  slot.asked.erase(asked);
  if (reply.verdict.ok()) {
    settle(request, std::move(reply.verdict));
  } else if (slot.batch > 1) {
    waiting_.push_front({request});
  } else {
    fail(request, reply.verdict);
  }
}

void JudgingLoop::fail_batch(WorkerSlot& slot, VerdictKind kind, const std::string& why) {
  slot.worker->end();
  const WorkerReport& report = slot.worker->report();
  if (!report.refused.empty()) throw std::runtime_error(report.refused);
  // Some programs end after each batch. What came after the end was never asked.
  const bool ended_before = why.empty() && !slot.first_batch && slot.asked.size() == slot.batch;
  std::string text = why;
  for (const std::string& part : {why.empty() ? report.ended : std::string(), last_words(report)}) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  const std::vector<WorkerSlot::Asked> unanswered = std::move(slot.asked);
  const bool alone = slot.batch == 1;
  slot.drop_worker();
  for (auto asked = unanswered.rbegin(); asked != unanswered.rend(); ++asked) {
    if (alone && !ended_before) {
      fail(asked->request, {kind, 0, text});
    } else {
      waiting_.push_front({asked->request});
    }
  }
}

void JudgingLoop::fail(std::size_t request, const RewardVerdict& verdict) {
  ++(verdict.kind == VerdictKind::timeout ? judgement_.timeouts : judgement_.errors);
  if (++failures_[request] <= how_.retry) return waiting_.push_front({request});
  ++failed_;
  settle(request, verdict);
  if (judged_ > 0 || failed_ < kGiveUpAfter) return;
  for (const std::vector<std::size_t>& batch : waiting_) {
    for (std::size_t other : batch) {
      settle(other, no_verdict("not asked, since the first " + std::to_string(failed_) +
                               " responses all failed, the last with: " + verdict.error));
    }
  }
  waiting_.clear();
}

void JudgingLoop::settle(std::size_t request, RewardVerdict verdict) {
  if (verdict.ok()) ++judged_;
  judgement_.verdicts[request] = std::move(verdict);
  ++settled_;
  if (how_.progress) how_.progress(static_cast<std::int64_t>(settled_), static_cast<std::int64_t>(requests_.size()));
}

void JudgingLoop::warn(const std::string& text) {
  auto& told = judgement_.warnings;
  if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(text);
}

std::string last_words(const WorkerReport& report) {
  std::string text;
  constexpr std::size_t kShown = 1000;
  for (const auto& [name, printed] : {std::pair("stderr", &report.err), std::pair("stdout", &report.out)}) {
    const std::string line = printable_line(*printed);
    if (line.empty()) continue;
    text += std::string(text.empty() ? "" : "; ") + name + ": ";
    text += line.size() > kShown ? "[…]" + printable_line(line.substr(line.size() - kShown)) : line;
  }
  return text;
}

}  // namespace rlflow
