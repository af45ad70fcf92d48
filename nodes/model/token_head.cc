// The head of the transformer: final norm, logits or values, log-probabilities of targets, and their gradient.
#include <algorithm>
#include <numeric>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/lanes.h"
#include "nodes/model/linear.h"
#include "nodes/model/transformer.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Rows whose logits are held at once: bounds the memory of large vocabularies to 32 MiB.
std::int64_t block_size(std::int64_t head_rows) {
  constexpr std::int64_t kLogitsFloats = 1 << 23;
  return std::clamp<std::int64_t>(kLogitsFloats / head_rows, 16, 256);
}

// The targets by their rows, so that the logits of a row are computed once.
struct TargetRows {
  explicit TargetRows(std::span<const Target> targets) : order(targets.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return targets[a].row < targets[b].row; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && targets[order[i]].row == rows.back()) continue;
      rows.push_back(targets[order[i]].row);
      first.push_back(i);
    }
    first.push_back(order.size());
  }
  // Numbers of the targets of the i-th row.
  std::span<const std::size_t> of(std::size_t i) const {
    return std::span(order).subspan(first[i], first[i + 1] - first[i]);
  }
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> order, first;
};

// One block's buffers. `hidden` are the rows' hidden states before the final norm.
struct Block {
  Block(const TransformerView& model, std::size_t rows)
      : size(std::min(block_size(model.layout.head_rows), static_cast<std::int64_t>(rows))),
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

void compute_logits(const TransformerView& model, std::span<const std::int64_t> rows, const Activations& activations,
                    Block& block) {
  const std::int64_t hidden = model.config.hidden_size;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(activations.output() + rows[i] * hidden, hidden, block.hidden + static_cast<std::int64_t>(i) * hidden);
  }
  logits(model, block.hidden, static_cast<std::int64_t>(rows.size()), block.normed, block.scales, block.logits);
}

// For the logits of each block of rows: of_row(logits, numbers of its targets), then of_block(block, rows).
template <class OfRow, class OfBlock>
void for_blocks(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                const OfRow& of_row, const OfBlock& of_block) {
  const TargetRows by_row(targets);
  Block block(model, by_row.rows.size());
  for (std::size_t begin = 0; begin < by_row.rows.size(); begin += static_cast<std::size_t>(block.size)) {
    const auto count = std::min(by_row.rows.size() - begin, static_cast<std::size_t>(block.size));
    const auto rows = std::span(by_row.rows).subspan(begin, count);
    compute_logits(model, rows, activations, block);
    run_lanes(static_cast<std::int64_t>(count), model.threads, [&](std::int64_t i) {
      of_row(block.logits + i * model.layout.head_rows, by_row.of(begin + static_cast<std::size_t>(i)));
    });
    of_block(block, rows);
  }
}

// From dL/dlogits, which stand in the place of the block's logits, to the hidden states and the head's parameters.
void block_backward(const TransformerView& model, std::span<const std::int64_t> rows, Block& block,
                    const Activations& activations, float* gradient) {
  const std::int64_t outputs = model.layout.head_rows, hidden = model.config.hidden_size;
  const auto count = static_cast<std::int64_t>(rows.size());
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
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cpu::kernels().add(block.dhidden + static_cast<std::int64_t>(i) * hidden, hidden,
                       activations.gradient() + rows[i] * hidden);
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
  const auto of_row = [&](const float* z, std::span<const std::size_t> numbers) {
    const cpu::Softmax softmax = cpu::kernels().softmax(z, model.layout.head_rows, inverse_temperature);
    for (std::size_t i : numbers) {
      logprob[i] = softmax.logprob(z[targets[i].token], inverse_temperature);
      if (entropy) entropy[i] = softmax.entropy;
    }
  };
  for_blocks(model, targets, activations, of_row, [](Block&, std::span<const std::int64_t>) {});
}

void target_logprobs_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                              const Activations& activations, float inverse_temperature, const float* dlogprob,
                              const float* dentropy, float* gradient) {
  std::fill_n(activations.gradient(), rows * model.config.hidden_size, 0.0f);
  const auto of_row = [&](float* z, std::span<const std::size_t> numbers) {
    float dlog_mass = 0, dentropies = 0;
    for (std::size_t i : numbers) {
      dlog_mass += dlogprob[i];
      if (dentropy) dentropies += dentropy[i];
    }
    const std::int64_t vocabulary = model.layout.head_rows;
    const cpu::Softmax softmax = cpu::kernels().softmax(z, vocabulary, inverse_temperature);
    cpu::kernels().softmax_backward(z, vocabulary, inverse_temperature, softmax, dlog_mass, dentropies);
    for (std::size_t i : numbers) z[targets[i].token] += dlogprob[i] * inverse_temperature;
  };
  for_blocks(model, targets, activations, of_row, [&](Block& block, std::span<const std::int64_t> part) {
    block_backward(model, part, block, activations, gradient);
  });
}

void target_values(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                   float* value) {
  RLFLOW_CHECK(model.layout.head_rows == 1, "a model without a value head");
  const auto of_row = [&](const float* z, std::span<const std::size_t> numbers) {
    for (std::size_t i : numbers) value[i] = *z;
  };
  for_blocks(model, targets, activations, of_row, [](Block&, std::span<const std::int64_t>) {});
}

void target_values_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                            const Activations& activations, const float* dvalue, float* gradient) {
  std::fill_n(activations.gradient(), rows * model.config.hidden_size, 0.0f);
  const auto of_row = [&](float* z, std::span<const std::size_t> numbers) {
    *z = 0;
    for (std::size_t i : numbers) *z += dvalue[i];
  };
  for_blocks(model, targets, activations, of_row, [&](Block& block, std::span<const std::int64_t> part) {
    block_backward(model, part, block, activations, gradient);
  });
}

}  // namespace rlflow
