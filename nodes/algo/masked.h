// Means and whitening over the tokens that a mask selects.
#pragma once

#include <ATen/core/Tensor.h>

namespace rlflow::algo {

// Everywhere in this folder N counts the response tokens of a batch, packed without padding, and `mask` is bool[N]
// with true = a token the policy produced and is trained on. Masked values are selected, never multiplied, so that a
// NaN or infinity under a false mask reaches nothing.

// Σ_m x ÷ (Σm + 1e-8); x f32[N] → f32[]
at::Tensor masked_mean(const at::Tensor& x, const at::Tensor& mask);

// (x − μ)·(σ² + 1e-8)^−½ with masked mean μ and masked variance σ² times n/(n−1), n = Σm; 0 where the mask is false.
// x f32[N] → f32[N]. With n < 2 every result is 0.
at::Tensor whiten(const at::Tensor& x, const at::Tensor& mask);

}  // namespace rlflow::algo
