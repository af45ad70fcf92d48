// The head of the transformer: final norm, logits, log-probabilities of targets, and their gradient.
#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"
#include "nodes/model/transformer.h"

namespace rlflow {
namespace {

// Targets whose logits are held at once: bounds the memory of large vocabularies.
std::int64_t block_size(const ModelConfig& config) {
  constexpr std::int64_t kLogitsFloats = 1 << 21;
  return std::clamp<std::int64_t>(kLogitsFloats / config.vocab_size, 16, 256);
}

// One block's buffers. `hidden` are the targets' hidden states before the final norm.
struct Block {
  explicit Block(const ModelConfig& config)
      : size(block_size(config)), storage(make_floats(size * (3 * config.hidden_size + 1 + config.vocab_size))) {
    hidden = floats(storage);
    normed = hidden + size * config.hidden_size;
    dhidden = normed + size * config.hidden_size;
    scales = dhidden + size * config.hidden_size;
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

}  // namespace

void logits(const TransformerView& model, const float* hidden, std::int64_t count, float* normed, float* scales,
            float* out) {
  cpu::kernels().rms_norm(hidden, model.parameters + model.layout.final_norm, count, model.config.hidden_size,
                          static_cast<float>(model.config.rms_norm_eps), normed, scales);
  linear(model.panels, model.panels.head(), normed, count, out, false);
}

void target_logprobs(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                     float inverse_temperature, float* logprob, float* entropy) {
  Block block(model.config);
  const std::int64_t vocabulary = model.config.vocab_size;
  for (std::size_t begin = 0; begin < targets.size(); begin += static_cast<std::size_t>(block.size)) {
    const auto part = targets.subspan(begin, std::min(targets.size() - begin, static_cast<std::size_t>(block.size)));
    compute_logits(model, part, activations, block);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const cpu::TokenTarget result = cpu::kernels().token_logprob(
          block.logits + static_cast<std::int64_t>(i) * vocabulary, vocabulary, inverse_temperature, part[i].token);
      logprob[begin + i] = result.logprob;
      if (entropy) entropy[begin + i] = result.entropy;
    }
  }
}

void target_logprobs_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                              const Activations& activations, float inverse_temperature, const float* dlogprob,
                              const float* dentropy, float* gradient) {
  Block block(model.config);
  const std::int64_t vocabulary = model.config.vocab_size, hidden = model.config.hidden_size;
  const float* p = model.parameters;
  std::fill_n(activations.gradient(), rows * hidden, 0.0f);
  for (std::size_t begin = 0; begin < targets.size(); begin += static_cast<std::size_t>(block.size)) {
    const auto part = targets.subspan(begin, std::min(targets.size() - begin, static_cast<std::size_t>(block.size)));
    const auto count = static_cast<std::int64_t>(part.size());
    compute_logits(model, part, activations, block);
    for (std::size_t i = 0; i < part.size(); ++i) {
      cpu::kernels().token_logprob_backward(block.logits + static_cast<std::int64_t>(i) * vocabulary, vocabulary,
                                            inverse_temperature, part[i].token, dlogprob[begin + i],
                                            dentropy ? dentropy[begin + i] : 0.0f);
    }
    linear_weight_gradient(block.logits, vocabulary, block.normed, hidden, count, gradient + model.layout.head);
    linear_input_gradient(p + model.layout.head, vocabulary, hidden, block.logits, count, block.normed, false);
    cpu::kernels().rms_norm_backward(block.hidden, p + model.layout.final_norm, block.scales, block.normed, count,
                                     hidden, block.dhidden, false, gradient + model.layout.final_norm);
    for (std::size_t i = 0; i < part.size(); ++i) {
      cpu::kernels().add(block.dhidden + static_cast<std::int64_t>(i) * hidden, hidden,
                         activations.gradient() + part[i].row * hidden);
    }
  }
}

}  // namespace rlflow
