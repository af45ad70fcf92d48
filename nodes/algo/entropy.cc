// How the entropy of a distribution is taken from its logits.
#include "nodes/algo/entropy.h"

#include <ATen/ATen.h>

namespace rlflow::algo {

at::Tensor entropy(const at::Tensor& logits) {
  return at::logsumexp(logits, {1}) - (at::softmax(logits, 1) * logits).sum(1);
}

}  // namespace rlflow::algo
