// How a batch's packed numbers become tensors for the functions of nodes/algo, and back.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <span>
#include <vector>

#include "nodes/batches.h"

namespace rlflow {

inline at::Tensor floats_of(std::span<const float> values) {  // f32[values], a copy
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

// A copy that gradients flow to.
inline at::Tensor leaf_of(std::span<const float> values) { return floats_of(values).set_requires_grad(true); }

// The gradient that a leaf has received; nothing where none did.
inline void copy_gradient(const at::Tensor& leaf, std::span<float> out) {
  if (!leaf.grad().defined()) return;
  const at::Tensor gradient = leaf.grad().contiguous();
  std::copy_n(gradient.const_data_ptr<float>(), out.size(), out.begin());
}

inline at::Tensor mask_of(const BatchDescriptor& batch) {  // bool[N], true = trained on
  at::Tensor mask = at::empty({batch.tokens()}, at::kBool);
  for (std::int64_t t = 0; t < batch.tokens(); ++t) mask.data_ptr<bool>()[t] = batch.mask[static_cast<std::size_t>(t)];
  return mask;
}

inline at::Tensor offsets_of(const BatchDescriptor& batch) {  // i64[B+1]
  at::Tensor offsets = at::empty({static_cast<std::int64_t>(batch.offsets.size())}, at::kLong);
  std::copy(batch.offsets.begin(), batch.offsets.end(), offsets.data_ptr<std::int64_t>());
  return offsets;
}

// One number a token, f32[N].
inline std::shared_ptr<Numbers> token_numbers(Kind kind, const BatchPtr& batch, const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kFloat).contiguous();
  const float* data = flat.const_data_ptr<float>();
  return std::make_shared<Numbers>(kind, batch, true, std::vector<float>(data, data + flat.numel()));
}

}  // namespace rlflow
