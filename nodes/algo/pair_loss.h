// The loss of a preference: how much more the chosen response is preferred than by the reference.
#pragma once

#include <ATen/core/Tensor.h>

namespace rlflow::algo {

struct PairLoss {
  at::Tensor loss;    // f32[P], differentiable in both log-probabilities
  at::Tensor margin;  // f32[P], β[(ℓ_w − ℓ_w,ref) − (ℓ_l − ℓ_l,ref)]
};

// −log σ(margin) of log-probabilities summed over each response; every argument f32[P], β > 0.
// (Rafailov et al., "Direct preference optimization", 2023, equation 7.)
PairLoss dpo_loss(const at::Tensor& chosen, const at::Tensor& rejected, const at::Tensor& chosen_reference,
                  const at::Tensor& rejected_reference, double beta);

}  // namespace rlflow::algo
