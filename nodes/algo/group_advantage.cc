// How a response is compared with the others of its prompt.
#include "nodes/algo/group_advantage.h"

#include <ATen/ATen.h>

#include "nodes/algo/masked.h"

namespace rlflow::algo {
namespace {

// Σ over the group of each response; x f64[B] → f64[G]
at::Tensor group_sum(const at::Tensor& x, const Groups& groups) {
  return at::zeros({groups.count}, x.options()).index_add(0, groups.index, x);
}
// n of each group, f64[G]; at least 1.
at::Tensor group_size(const at::Tensor& like, const Groups& groups) {
  return group_sum(at::ones_like(like), groups).clamp_min(1);
}
at::Tensor spread(const at::Tensor& per_group, const Groups& groups) { return per_group.index_select(0, groups.index); }

at::Tensor wide(const at::Tensor& score) { return score.detach().to(at::kDouble); }
at::Tensor narrow(const at::Tensor& advantage) { return advantage.to(at::kFloat); }

// s − μ_g, f64[B]
at::Tensor centred(const at::Tensor& s, const Groups& groups) {
  return s - spread(group_sum(s, groups) / group_size(s, groups), groups);
}
// σ_g of each response, f64[B]
at::Tensor group_deviation(const at::Tensor& s, const Groups& groups) {
  const at::Tensor squares = group_sum(centred(s, groups).square(), groups);
  return spread(at::sqrt(squares / (group_size(s, groups) - 1).clamp_min(1)), groups);
}
// σ of the batch, f64[]
at::Tensor batch_deviation(const at::Tensor& s) {
  const double n = static_cast<double>(s.numel());
  return at::sqrt((s - s.mean()).square().sum() / std::max(n - 1, 1.0));
}

}  // namespace

std::optional<Scale> scale_from_name(std::string_view name) {
  if (name == "group") return Scale::group;
  if (name == "batch") return Scale::batch;
  if (name == "none") return Scale::none;
  return std::nullopt;
}

at::Tensor grpo(const at::Tensor& score, const Groups& groups, double eps, Scale scale) {
  const at::Tensor s = wide(score);
  switch (scale) {
    case Scale::group: return narrow(centred(s, groups) / (group_deviation(s, groups) + eps));
    case Scale::batch: return narrow(centred(s, groups) / (batch_deviation(s) + eps));
    case Scale::none: return narrow(centred(s, groups));
  }
  return {};
}

at::Tensor dr_grpo(const at::Tensor& score, const Groups& groups) { return narrow(centred(wide(score), groups)); }

at::Tensor rloo(const at::Tensor& score, const Groups& groups) {
  const at::Tensor s = wide(score);
  const at::Tensor n = group_size(s, groups);
  return narrow(spread(n / (n - 1).clamp_min(1), groups) * centred(s, groups));
}

at::Tensor opo(const at::Tensor& score, const at::Tensor& length, const Groups& groups) {
  const at::Tensor s = wide(score);
  const at::Tensor y = wide(length);
  const at::Tensor baseline = group_sum(y * s, groups) / group_sum(y, groups).clamp_min(1);
  return narrow(s - spread(baseline, groups));
}

at::Tensor gpg(const at::Tensor& score, const Groups& groups) {
  const at::Tensor s = wide(score);
  const double nonzero = std::max((s != 0).sum().item<double>(), 1.0);
  return narrow(centred(s, groups) * (static_cast<double>(s.numel()) / nonzero));
}

at::Tensor pass_at_k(const at::Tensor& score, const Groups& groups) {
  const at::Tensor s = wide(score).contiguous();
  const at::Tensor deviation = group_deviation(s, groups);
  at::Tensor advantage = at::zeros_like(s);
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const at::Tensor rows = at::nonzero(groups.index == g).flatten();
    if (rows.numel() < 2) continue;
    const auto [sorted, order] = at::sort(s.index_select(0, rows), /*stable=*/true, /*dim=*/0, /*descending=*/true);
    const at::Tensor best = rows.index_select(0, order.slice(0, 0, 1));
    advantage.index_copy_(0, best, (sorted[0] - sorted[1]).unsqueeze(0) / (deviation.index_select(0, best) + 1e-6));
  }
  return narrow(advantage);
}

at::Tensor gdpo(const std::vector<at::Tensor>& scores, const std::vector<double>& weights, const Groups& groups,
                double eps) {
  at::Tensor sum;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const at::Tensor part = grpo(scores[k], groups, eps, Scale::group) * weights[k];
    sum = k == 0 ? part : sum + part;
  }
  return whiten(sum, at::ones_like(sum, at::kBool));
}

at::Tensor reinforce(const at::Tensor& score, bool subtract_batch_mean) {
  const at::Tensor s = wide(score);
  return narrow(subtract_batch_mean ? s - s.mean() : s);
}

}  // namespace rlflow::algo
