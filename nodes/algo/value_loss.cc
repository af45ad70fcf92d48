// How a critic is charged for a token.
#include "nodes/algo/value_loss.h"

#include <ATen/ATen.h>

namespace rlflow::algo {

ValueLoss value_loss(const at::Tensor& value, const at::Tensor& old_value, const at::Tensor& returns, double clip) {
  const at::Tensor near = old_value + at::clamp(value - old_value, -clip, clip);
  const at::Tensor plain = (value - returns).square();
  const at::Tensor bounded = (near - returns).square();
  return {0.5 * at::maximum(plain, bounded), bounded > plain};
}

}  // namespace rlflow::algo
