// How masked means and whitening are taken.
#include "nodes/algo/masked.h"

#include <ATen/ATen.h>

namespace rlflow::algo {

at::Tensor masked_mean(const at::Tensor& x, const at::Tensor& mask) {
  return at::where(mask, x, at::zeros_like(x)).sum() / (mask.sum() + 1e-8);
}

at::Tensor whiten(const at::Tensor& x, const at::Tensor& mask) {
  const double n = mask.sum().item<double>();
  if (n < 2) return at::zeros_like(x);
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor centred = wide - masked_mean(wide, mask);
  const at::Tensor variance = masked_mean(centred.square(), mask) * (n / (n - 1));
  return at::where(mask, centred * at::rsqrt(variance + 1e-8), at::zeros_like(centred)).to(x.scalar_type());
}

}  // namespace rlflow::algo
