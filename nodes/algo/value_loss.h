// The loss of a critic, token by token.
#pragma once

#include <ATen/core/Tensor.h>

namespace rlflow::algo {

struct ValueLoss {
  at::Tensor loss;     // f32[N], differentiable in value
  at::Tensor clipped;  // bool[N]: its masked mean is clipfrac
};

// v_c = clip(v, v_old ± ε); L = ½·max((v − R)², (v_c − R)²); clipped where the second is larger.
// value, old_value, returns f32[N].
ValueLoss value_loss(const at::Tensor& value, const at::Tensor& old_value, const at::Tensor& returns, double clip);

}  // namespace rlflow::algo
