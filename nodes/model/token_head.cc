// The head of the transformer: final norm, logits or values, log-probabilities of targets, and their gradient.
#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"
#include "nodes/model/transformer.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Targets whose logits are held at once: bounds the memory of large vocabularies.
std::int64_t block_size(std::int64_t head_rows) {
  constexpr std::int64_t kLogitsFloats = 1 << 21;
  return std::clamp<std::int64_t>(kLogitsFloats / head_rows, 16, 256);
}

// One block's buffers. `hidden` are the targets' hidden states before the final norm.
struct Block {
  explicit Block(const TransformerView& model)
      : size(block_size(model.layout.head_rows)),
        storage(make_floats(size * (3 * model.config.hidden_size + 1 + model.layout.head_rows))) {
    const std::int64_t width = model.config.hidden_size;
    hidden = floats(storage);
    normed = hidden + size * width;
    dhidden = normed + size * width;
    scales = dhidden + size * width;
    logits = scales + size;
  }
  std::int64_t size;
  at::Tensor storage;
  float *hidden, *normed, *dhidden, *scales, *logits;
};

void compute_logits(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                    Block& block) {
  const std::int64_t hidden = model.config.hidden_size;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::copy_n(activations.output() + targets[i].row * hidden, hidden,
                block.hidden + static_cast<std::int64_t>(i) * hidden);
  }
  logits(model, block.hidden, static_cast<std::int64_t>(targets.size()), block.normed, block.scales, block.logits);
}

// Calls use(block, part, begin) for the logits of each block of targets.
template <class Use>
void for_blocks(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                const Use& use) {
  Block block(model);
  for (std::size_t begin = 0; begin < targets.size(); begin += static_cast<std::size_t>(block.size)) {
    const auto part = targets.subspan(begin, std::min(targets.size() - begin, static_cast<std::size_t>(block.size)));
    compute_logits(model, part, activations, block);
    use(block, part, begin);
  }
}

// From dL/dlogits, which stand in the place of the block's logits, to the hidden states and the head's parameters.
void block_backward(const TransformerView& model, std::span<const Target> part, Block& block,
                    const Activations& activations, float* gradient) {
  const std::int64_t outputs = model.layout.head_rows, hidden = model.config.hidden_size;
  const auto count = static_cast<std::int64_t>(part.size());
  const float* p = model.parameters;
  if (model.adapters == nullptr) {
    linear_weight_gradient(block.logits, outputs, block.normed, hidden, count, gradient + model.layout.head,
                           model.threads);
  }
  linear_input_gradient(p + model.layout.head, outputs, hidden, block.logits, count, block.normed, false,
                        model.threads);
  cpu::kernels().rms_norm_backward(block.hidden, p + model.layout.final_norm, norm_offset(model.config), block.scales,
                                   block.normed, count, hidden, block.dhidden, false,
                                   model.gradient_at(gradient, model.layout.final_norm));
  for (std::size_t i = 0; i < part.size(); ++i) {
    cpu::kernels().add(block.dhidden + static_cast<std::int64_t>(i) * hidden, hidden,
                       activations.gradient() + part[i].row * hidden);
  }
}

}  // namespace

void logits(const TransformerView& model, const float* hidden, std::int64_t count, float* normed, float* scales,
            float* out) {
  norm_rows(model, model.layout.final_norm, hidden, count, normed, scales);
  linear(model.panels, model.panels.head(), normed, count, out, false, model.threads);
}

void target_logprobs(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                     float inverse_temperature, float* logprob, float* entropy) {
  const std::int64_t vocabulary = model.layout.head_rows;
  for_blocks(model, targets, activations, [&](Block& block, std::span<const Target> part, std::size_t begin) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const cpu::TokenTarget result = cpu::kernels().token_logprob(
          block.logits + static_cast<std::int64_t>(i) * vocabulary, vocabulary, inverse_temperature, part[i].token);
      logprob[begin + i] = result.logprob;
      if (entropy) entropy[begin + i] = result.entropy;
    }
  });
}

void target_logprobs_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                              const Activations& activations, float inverse_temperature, const float* dlogprob,
                              const float* dentropy, float* gradient) {
  const std::int64_t vocabulary = model.layout.head_rows;
  std::fill_n(activations.gradient(), rows * model.config.hidden_size, 0.0f);
  for_blocks(model, targets, activations, [&](Block& block, std::span<const Target> part, std::size_t begin) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      cpu::kernels().token_logprob_backward(block.logits + static_cast<std::int64_t>(i) * vocabulary, vocabulary,
                                            inverse_temperature, part[i].token, dlogprob[begin + i],
                                            dentropy ? dentropy[begin + i] : 0.0f);
    }
    block_backward(model, part, block, activations, gradient);
  });
}

void target_values(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                   float* value) {
  RLFLOW_CHECK(model.layout.head_rows == 1, "a model without a value head");
  for_blocks(model, targets, activations, [&](Block& block, std::span<const Target> part, std::size_t begin) {
    std::copy_n(block.logits, part.size(), value + begin);
  });
}

void target_values_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                            const Activations& activations, const float* dvalue, float* gradient) {
  std::fill_n(activations.gradient(), rows * model.config.hidden_size, 0.0f);
  for_blocks(model, targets, activations, [&](Block& block, std::span<const Target> part, std::size_t begin) {
    std::copy_n(dvalue + begin, part.size(), block.logits);
    block_backward(model, part, block, activations, gradient);
  });
}

}  // namespace rlflow
