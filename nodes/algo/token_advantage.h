// Advantages of single tokens: discounted rewards to go, and generalised advantage estimation.
#pragma once

#include <ATen/core/Tensor.h>

#include "nodes/algo/group_advantage.h"

namespace rlflow::algo {

// reward, value f32[N] and mask bool[N] on the CPU; offsets i64[B+1]: response i holds tokens offsets[i] …
// offsets[i+1]. Tokens with a false mask (text of a tool) carry what comes after them through unchanged and get 0
// themselves.

// Places one reward a response on its last token with a true mask; score f32[B] → f32[N]. A response without such a
// token gets nothing.
at::Tensor on_last_token(const at::Tensor& score, const at::Tensor& mask, const at::Tensor& offsets);

// R_t = r_t + γ·R_next → f32[N]
at::Tensor discounted_returns(const at::Tensor& reward, const at::Tensor& mask, const at::Tensor& offsets,
                              double gamma);

// whiten(R)·m over the batch. (Hu, "REINFORCE++", 2025.)
at::Tensor reinforce_pp(const at::Tensor& reward, const at::Tensor& mask, const at::Tensor& offsets, double gamma);

// whiten((s − μ_g) on every token of the response)·m; score f32[B] → f32[N].
at::Tensor reinforce_pp_baseline(const at::Tensor& score, const Groups& groups, const at::Tensor& mask,
                                 const at::Tensor& offsets);

// Reward to go less the reward of the greedy response of the same prompt; baseline f32[G] → f32[N].
// (Li et al., "ReMax", 2023.)
at::Tensor remax(const at::Tensor& reward, const at::Tensor& baseline, const Groups& groups, const at::Tensor& mask,
                 const at::Tensor& offsets);

struct Gae {
  at::Tensor advantage;  // f32[N], not whitened
  at::Tensor returns;    // f32[N], advantage + value
};

// Backwards from V_next = A_next = 0: δ = r_t + γ·V_next − V_t; A_t = δ + γλ·A_next.
// (Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016, equation 16.)
Gae gae(const at::Tensor& reward, const at::Tensor& value, const at::Tensor& mask, const at::Tensor& offsets,
        double gamma, double lambda);

}  // namespace rlflow::algo
