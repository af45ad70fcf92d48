// A reward function as score and evaluate see it: responses in, a verdict for each out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/plan.h"

namespace rlflow {

struct RewardRequest {
  std::string_view prompt;
  std::string_view response;  // text without the end token
  std::string_view answer;    // empty where the data has none
  bool ended = false;         // an end token was produced; false: cut off at max_new
  std::string_view row;       // the data row as a JSON object; empty where there is none
};

enum class VerdictKind { ok, error, timeout };

// A judge that failed gives no value: failure never becomes a reward of 0.
struct RewardVerdict {
  VerdictKind kind = VerdictKind::ok;
  double value = 0;   // finite in f32 if ok
  std::string error;  // why there is no value

  bool ok() const { return kind == VerdictKind::ok; }
};
inline RewardVerdict verdict_of(double value) { return {VerdictKind::ok, value, {}}; }
inline RewardVerdict no_verdict(std::string why) { return {VerdictKind::error, 0, std::move(why)}; }

struct Judging {
  std::int32_t retry = 0;  // times that a response without a value is judged again
  std::stop_token stop;    // on stop TaskStopped is thrown
  // For judges that are programs of their own:
  std::int64_t timeout_ms = 0;  // for one response; 0: kDefaultTimeoutMs
  std::int32_t workers = 1;     // processes
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};
inline constexpr std::int64_t kDefaultTimeoutMs = 60'000;

struct Judgement {
  std::vector<RewardVerdict> verdicts;  // one a request, in their order
  std::int64_t errors = 0;              // tries without a value, those that a later try mended included
  std::int64_t timeouts = 0;
  std::vector<std::string> warnings;  // of the judge as a whole
};

// One thread at a time may call it.
class Reward {
 public:
  virtual ~Reward() = default;
  // Throws TaskStopped, and std::runtime_error where no response can be judged at all.
  virtual Judgement judge(std::span<const RewardRequest> requests, const Judging& how) = 0;
  // What responses are compared by when they vote: equal texts are the same answer. The response, unless the judge
  // looks for an answer in it; empty where it finds none.
  virtual std::string answer(const RewardRequest& request) const { return std::string(request.response); }
  // A program outside: what it says is a fact, and may be another one tomorrow.
  virtual bool external() const { return false; }
};

// A judge that is a function of one response. A verdict whose value is not finite in f32 becomes an error.
class FunctionReward : public Reward {
 public:
  virtual RewardVerdict verdict(const RewardRequest& request) const = 0;
  Judgement judge(std::span<const RewardRequest> requests, const Judging& how) final;
};

// Where a judge that is a program runs, and what is kept from it.
struct RewardPlace {
  std::filesystem::path root;    // absolute: its working folder
  std::filesystem::path hidden;  // absolute: the folder of runs, which it may not read; empty: none
  std::filesystem::path host;    // rlflow-reward-host
  std::filesystem::path helper;  // the folder of rlflow_reward.py
};

// As the program lies beside its host and helper. `run_dir` may be empty: then the project's `runs` is hidden.
RewardPlace reward_place(const std::filesystem::path& root, const std::filesystem::path& run_dir);

// Throws std::runtime_error naming the declaration and what is wrong with it.
std::unique_ptr<Reward> make_reward(const PlanReward& reward, const RewardPlace& place);

// Why response `index` has no reward, of what prompt and response: one line.
std::string failure_text(const RewardVerdict& verdict, const RewardRequest& request, std::size_t index);

// The value of every verdict. Throws std::runtime_error for the first that has none, saying which, why, and of what
// prompt and response.
std::vector<double> values_of(const Judgement& judgement, std::span<const RewardRequest> requests);

}  // namespace rlflow
