// The entropy of next-token distributions.
#pragma once

#include <ATen/core/Tensor.h>

namespace rlflow::algo {

// H = logsumexp(z) − Σ softmax(z)·z, nats; logits f32[N, V], already divided by the temperature → f32[N].
at::Tensor entropy(const at::Tensor& logits);

}  // namespace rlflow::algo
