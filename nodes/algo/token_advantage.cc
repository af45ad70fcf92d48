// How rewards are shared out over the tokens before them.
#include "nodes/algo/token_advantage.h"

#include <ATen/ATen.h>

#include "nodes/algo/masked.h"

namespace rlflow::algo {
namespace {

// Index of the response of each token, i64[N].
at::Tensor response_of_token(const at::Tensor& offsets) {
  const at::Tensor lengths = offsets.slice(0, 1) - offsets.slice(0, 0, -1);
  return at::repeat_interleave(lengths);
}

// Calls visit(t) for the tokens with a true mask, from the last of each response to its first, and start() before each.
template <class Start, class Visit>
void backwards(const at::Tensor& mask, const at::Tensor& offsets, Start start, Visit visit) {
  const auto m = mask.accessor<bool, 1>();
  const auto offset = offsets.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i + 1 < offsets.numel(); ++i) {
    start(i);
    for (std::int64_t t = offset[i + 1] - 1; t >= offset[i]; --t) {
      if (m[t]) visit(i, t);
    }
  }
}

}  // namespace

at::Tensor on_last_token(const at::Tensor& score, const at::Tensor& mask, const at::Tensor& offsets) {
  at::Tensor reward = at::zeros({mask.numel()}, score.options());
  const auto s = score.accessor<float, 1>();
  auto r = reward.accessor<float, 1>();
  bool placed = false;
  backwards(
      mask, offsets, [&](std::int64_t) { placed = false; },
      [&](std::int64_t i, std::int64_t t) {
        if (!placed) r[t] = s[i];
        placed = true;
      });
  return reward;
}

at::Tensor discounted_returns(const at::Tensor& reward, const at::Tensor& mask, const at::Tensor& offsets,
                              double gamma) {
  at::Tensor returns = at::zeros_like(reward);
  const auto r = reward.accessor<float, 1>();
  auto out = returns.accessor<float, 1>();
  double next = 0;
  backwards(
      mask, offsets, [&](std::int64_t) { next = 0; },
      [&](std::int64_t, std::int64_t t) {
        next = r[t] + gamma * next;
        out[t] = static_cast<float>(next);
      });
  return returns;
}

at::Tensor reinforce_pp(const at::Tensor& reward, const at::Tensor& mask, const at::Tensor& offsets, double gamma) {
  return whiten(discounted_returns(reward, mask, offsets, gamma), mask);
}

at::Tensor reinforce_pp_baseline(const at::Tensor& score, const Groups& groups, const at::Tensor& mask,
                                 const at::Tensor& offsets) {
  return whiten(dr_grpo(score, groups).index_select(0, response_of_token(offsets)), mask);
}

at::Tensor remax(const at::Tensor& reward, const at::Tensor& baseline, const Groups& groups, const at::Tensor& mask,
                 const at::Tensor& offsets) {
  const at::Tensor greedy = baseline.index_select(0, groups.index).index_select(0, response_of_token(offsets));
  const at::Tensor advantage = discounted_returns(reward, mask, offsets, 1.0) - greedy;
  return at::where(mask, advantage, at::zeros_like(advantage));
}

Gae gae(const at::Tensor& reward, const at::Tensor& value, const at::Tensor& mask, const at::Tensor& offsets,
        double gamma, double lambda) {
  Gae result{at::zeros_like(reward), at::zeros_like(reward)};
  const auto r = reward.accessor<float, 1>();
  const auto v = value.accessor<float, 1>();
  auto advantage = result.advantage.accessor<float, 1>();
  auto returns = result.returns.accessor<float, 1>();
  double next_value = 0;
  double next_advantage = 0;
  backwards(
      mask, offsets, [&](std::int64_t) { next_value = next_advantage = 0; },
      [&](std::int64_t, std::int64_t t) {
        const double delta = r[t] + gamma * next_value - v[t];
        next_advantage = delta + gamma * lambda * next_advantage;
        next_value = v[t];
        advantage[t] = static_cast<float>(next_advantage);
        returns[t] = static_cast<float>(next_advantage + v[t]);
      });
  return result;
}

}  // namespace rlflow::algo
