// Advantages of whole responses: each is compared with the others of its prompt or of the batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

namespace rlflow::algo {

// Below, score f32[B] holds one number a response (rewards of tokens added up) and group i64[B] the index of its
// prompt, 0 … groups − 1; s is a score, μ_g and σ_g mean and unbiased (n−1) deviation of its group of n. Results are
// f32[B], without gradient. Sums are taken in f64, so a group with equal scores gives exactly 0, as does a group of
// one.

enum class Scale { group, batch, none };
std::optional<Scale> scale_from_name(std::string_view name);

struct Groups {
  at::Tensor index;  // i64[B]
  std::int64_t count = 0;
};

// A = (s − μ_g) ÷ (σ + eps), σ of the group or of the batch; s − μ_g with Scale::none.
// (Shao et al., "DeepSeekMath", 2024, section 4.1.2.)
at::Tensor grpo(const at::Tensor& score, const Groups& groups, double eps, Scale scale);

// A = s − μ_g. (Liu et al., "Understanding R1-Zero-like training", 2025.)
at::Tensor dr_grpo(const at::Tensor& score, const Groups& groups);

// A = n/(n−1)·(s − μ_g): the baseline is the mean of the others. (Ahmadian et al., "Back to basics", 2024.)
at::Tensor rloo(const at::Tensor& score, const Groups& groups);

// A = s − Σ|y|s ÷ Σ|y| over the group; length f32[B] holds |y|. (Hao et al., "On-policy RL with optimal baseline",
// 2025.)
at::Tensor opo(const at::Tensor& score, const at::Tensor& length, const Groups& groups);

// A = B ÷ max(#{s ≠ 0}, 1) · (s − μ_g). (Chu et al., "GPG", 2025.)
at::Tensor gpg(const at::Tensor& score, const Groups& groups);

// The best of the group gets (max − second) ÷ (σ_g + 1e-6), the others 0; between equals the first is the best.
at::Tensor pass_at_k(const at::Tensor& score, const Groups& groups);

// Σ_k w_k·grpo(s_k) over several rewards, whitened over the responses of the batch. (Liu et al., "GDPO: group
// reward-decoupled normalization policy optimization", 2026.)
at::Tensor gdpo(const std::vector<at::Tensor>& scores, const std::vector<double>& weights, const Groups& groups,
                double eps);

// A = s, or s less the mean of the batch. (Williams, 1992.)
at::Tensor reinforce(const at::Tensor& score, bool subtract_batch_mean);

}  // namespace rlflow::algo
