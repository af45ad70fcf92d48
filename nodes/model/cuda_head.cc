// The head of the transformer on a GPU.
#include "nodes/model/cuda_head.h"

#include <algorithm>

#include "nodes/model/layer.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Logits that are held at once take an eighth of the GPU's memory: on one of 141 GB, 28,000 rows of a vocabulary of
// 152,000. Where a chunk has more they are computed anew for the backward pass, block by block.
std::int64_t block_rows(const CudaView& model) {
  return std::max<std::int64_t>(16, cuda::device_facts(model.device).memory / 8 / (model.layout.head_rows * 4));
}

cuda::NormShape norm_shape(const CudaView& model) {
  return {model.element, model.config.hidden_size, static_cast<float>(model.config.rms_norm_eps),
          norm_offset(model.config)};
}

const void* row(const cuda::DeviceBuffer& buffer, std::int64_t i, const CudaView& model) {
  return buffer.as<const char>() + i * model.config.hidden_size * cuda::bytes_of(model.element);
}

cuda::RowTargets targets_from(const CudaChunk& chunk, std::int64_t begin) {
  return {chunk.target_begins + begin, chunk.target_tokens};
}

}  // namespace

void CudaHead::norm_rows(const CudaView& model, CudaWorkspace& workspace) {
  const CudaChunk& chunk = workspace.chunk;
  const std::int64_t bytes = chunk.head_rows * model.config.hidden_size * cuda::bytes_of(model.element);
  normed_.reserve(bytes);
  scales_.reserve(chunk.head_rows * 4);
  cuda::rms_norm(norm_shape(model), workspace.activations.output, model.at(model.layout.final_norm), chunk.head_rows,
                 chunk.head_row, nullptr, normed_.data(), scales_.as<float>(), workspace.stream);
  workspace.mark("norm");
}

// From dnormed_ to activations.gradient and the norm's weight.
void CudaHead::norm_rows_backward(const CudaView& model, CudaWorkspace& workspace, float* gradient) {
  const CudaChunk& chunk = workspace.chunk;
  const CudaActivations& activations = workspace.activations;
  const std::int64_t hidden = model.config.hidden_size;
  workspace.partials.reserve(std::max(cuda::norm_scratch(hidden), cuda::column_scratch(hidden)));
  cuda::fill_bytes(activations.gradient, 0, chunk.rows * hidden * cuda::bytes_of(model.element), workspace.stream);
  cuda::rms_norm_backward(norm_shape(model), activations.output, model.at(model.layout.final_norm), scales_.as<float>(),
                          dnormed_.data(), chunk.head_rows, chunk.head_row, activations.gradient, false,
                          gradient + model.layout.final_norm, workspace.partials.data(), workspace.stream);
  workspace.mark("norm backward");
}

void CudaHead::compute_logits(const CudaView& model, CudaWorkspace& workspace, std::int64_t begin, std::int64_t count) {
  logits_.reserve(count * model.layout.head_rows * 4);
  workspace.products.linear(row(normed_, begin, model), model.at(model.layout.head), nullptr, model.element, count,
                            model.config.hidden_size, model.layout.head_rows, logits_.data(), cuda::Element::f32, false,
                            workspace.stream);
  workspace.mark("product head");
}

void CudaHead::fetch(const CudaChunk& chunk, const float* from, float* to, const cuda::Stream& stream) {
  const auto count = static_cast<std::int64_t>(chunk.order().size());
  host_.reserve(count * 4);
  cuda::copy(host_.as<float>(), from, count * 4, stream);
  stream.synchronize();
  for (std::int64_t i = 0; i < count; ++i) to[chunk.order()[static_cast<std::size_t>(i)]] = host_.as<float>()[i];
}

void CudaHead::send(const CudaChunk& chunk, const float* from, float* to, const cuda::Stream& stream) {
  const auto count = static_cast<std::int64_t>(chunk.order().size());
  host_.reserve(count * 4);
  for (std::int64_t i = 0; i < count; ++i) host_.as<float>()[i] = from[chunk.order()[static_cast<std::size_t>(i)]];
  cuda::copy(to, host_.as<float>(), count * 4, stream);
  stream.synchronize();
}

void CudaHead::logprobs(const CudaView& model, CudaWorkspace& workspace, float inverse_temperature, Keep keep,
                        float* logprob, float* entropy) {
  const CudaChunk& chunk = workspace.chunk;
  const auto targets = static_cast<std::int64_t>(chunk.order().size());
  const std::int64_t vocabulary = model.layout.head_rows, block = block_rows(model);
  RLFLOW_CHECK(model.layout.kind == Head::lm, "a model without a token head");
  norm_rows(model, workspace);
  softmax_.reserve(chunk.head_rows * static_cast<std::int64_t>(sizeof(cuda::RowSoftmax)));
  numbers_.reserve(2 * targets * 4);
  for (std::int64_t begin = 0; begin < chunk.head_rows; begin += block) {
    const std::int64_t count = std::min(block, chunk.head_rows - begin);
    compute_logits(model, workspace, begin, count);
    cuda::read_logits(logits_.as<float>(), count, vocabulary, inverse_temperature, targets_from(chunk, begin),
                      softmax_.as<cuda::RowSoftmax>() + begin, numbers_.as<float>(),
                      entropy ? numbers_.as<float>() + targets : nullptr, workspace.stream);
    workspace.mark("softmax");
  }
  if (keep == Keep::activations) {
    dnormed_.reserve(chunk.head_rows * model.config.hidden_size * cuda::bytes_of(model.element));
  }
  fetch(chunk, numbers_.as<float>(), logprob, workspace.stream);
  if (entropy) fetch(chunk, numbers_.as<float>() + targets, entropy, workspace.stream);
}

void CudaHead::logprobs_backward(const CudaView& model, CudaWorkspace& workspace, float inverse_temperature,
                                 const float* dlogprob, const float* dentropy, float* gradient) {
  const CudaChunk& chunk = workspace.chunk;
  const auto targets = static_cast<std::int64_t>(chunk.order().size());
  const std::int64_t vocabulary = model.layout.head_rows, hidden = model.config.hidden_size, block = block_rows(model);
  send(chunk, dlogprob, numbers_.as<float>(), workspace.stream);
  send(chunk, dentropy, numbers_.as<float>() + targets, workspace.stream);
  workspace.mark("loss on the host");
  // The last block's logits are still there.
  const std::int64_t blocks = (chunk.head_rows + block - 1) / block;
  const std::int64_t stride = model.element == cuda::Element::f32 ? vocabulary : 2 * vocabulary;
  for (std::int64_t b = blocks; b-- > 0;) {
    const std::int64_t begin = b * block, count = std::min(block, chunk.head_rows - begin);
    if (b + 1 < blocks) compute_logits(model, workspace, begin, count);
    cuda::logits_gradient(logits_.as<float>(), count, vocabulary, inverse_temperature, targets_from(chunk, begin),
                          softmax_.as<cuda::RowSoftmax>() + begin, numbers_.as<float>(), numbers_.as<float>() + targets,
                          model.element, workspace.stream);
    workspace.mark("softmax backward");
    workspace.products.weight_gradient(logits_.data(), row(normed_, begin, model), model.element, count, hidden,
                                       vocabulary, gradient + model.layout.head, true, workspace.stream, stride);
    workspace.mark("product head, weight gradient");
    workspace.products.input_gradient(logits_.data(), model.at(model.layout.head), model.element, count, hidden,
                                      vocabulary, const_cast<void*>(row(dnormed_, begin, model)), model.element, false,
                                      workspace.stream, stride);
    workspace.mark("product head, input gradient");
  }
  norm_rows_backward(model, workspace, gradient);
}

void CudaHead::values(const CudaView& model, CudaWorkspace& workspace, Keep keep, float* value) {
  const CudaChunk& chunk = workspace.chunk;
  const auto targets = static_cast<std::int64_t>(chunk.order().size());
  RLFLOW_CHECK(model.layout.head_rows == 1, "a model without a value head");
  norm_rows(model, workspace);
  row_numbers_.reserve(chunk.head_rows * 4);
  numbers_.reserve(2 * targets * 4);
  cuda::read_values(model.element, normed_.data(), model.at(model.layout.head), chunk.head_rows,
                    model.config.hidden_size, row_numbers_.as<float>(), workspace.stream);
  cuda::spread_rows(row_numbers_.as<float>(), chunk.target_begins, chunk.head_rows, numbers_.as<float>(),
                    workspace.stream);
  if (keep == Keep::activations) {
    dnormed_.reserve(chunk.head_rows * model.config.hidden_size * cuda::bytes_of(model.element));
  }
  fetch(chunk, numbers_.as<float>(), value, workspace.stream);
}

void CudaHead::values_backward(const CudaView& model, CudaWorkspace& workspace, const float* dvalue, float* gradient) {
  const CudaChunk& chunk = workspace.chunk;
  const std::int64_t hidden = model.config.hidden_size;
  send(chunk, dvalue, numbers_.as<float>(), workspace.stream);
  cuda::sum_targets(numbers_.as<float>(), chunk.target_begins, chunk.head_rows, row_numbers_.as<float>(),
                    workspace.stream);
  workspace.partials.reserve(cuda::column_scratch(hidden));
  cuda::add_column_sums(model.element, normed_.data(), row_numbers_.as<float>(), chunk.head_rows, hidden,
                        gradient + model.layout.head, workspace.partials.data(), workspace.stream);
  cuda::values_gradient(model.element, row_numbers_.as<float>(), model.at(model.layout.head), chunk.head_rows, hidden,
                        dnormed_.data(), workspace.stream);
  norm_rows_backward(model, workspace, gradient);
}

}  // namespace rlflow
