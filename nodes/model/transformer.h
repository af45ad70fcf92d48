// The transformer as functions of parameters: packed rows to hidden states to log-probabilities, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/attention.h"
#include "nodes/model/layer.h"
#include "nodes/model/packed_rows.h"
#include "nodes/model/parameters.h"

namespace rlflow {

// What one pass over R rows leaves for the backward pass. Grows and is used again.
class Activations {
 public:
  // Reading keeps nothing that a backward pass alone needs: its layers share the memory of one. Recomputing keeps the
  // input of each layer and shares the rest; the backward pass computes a layer again before it needs it.
  enum class Use { reading, training, recomputing };
  struct Layer : LayerRows {
    float* input = nullptr;     // f32[R, hidden]
    float* log_sums = nullptr;  // † f32[R, heads]
    float* middle = nullptr;    // f32[R, hidden], after attention
  };
  void reserve(const TransformerView& model, std::int64_t rows, Use use);
  bool recomputes() const { return use_ == Use::recomputing; }
  const Layer& layer(std::int64_t i) const { return layers_[layers_.size() == 1 ? 0 : static_cast<std::size_t>(i)]; }
  float* output() const { return output_; }      // f32[R, hidden], before the final norm
  float* normed() const { return normed_; }      // scratch f32[R, hidden]
  float* wide() const { return wide_; }          // scratch f32[R, max(intermediate_size, …)]
  float* gradient() const { return gradient_; }  // scratch f32[R, hidden]; null when reading, as the next are
  LayerGradients gradients() const { return {normed_, branch_, wide_, wide_gradient_}; }  // scratch
  std::span<AttentionScratch> attention() { return attention_; }

 private:
  using Take = std::function<float*(std::int64_t)>;  // floats a row
  void place(const ModelConfig& config, Use use, const Take& take);

  Use use_ = Use::reading;
  std::vector<Layer> layers_;
  float *output_ = nullptr, *normed_ = nullptr, *wide_ = nullptr, *gradient_ = nullptr, *wide_gradient_ = nullptr;
  float* branch_ = nullptr;
  std::vector<AttentionScratch> attention_;  // of each thread
  std::int64_t capacity_ = 0;                // floats
  at::Tensor storage_;
};

// Runs all layers; leaves the output in `activations`, and every layer's activations where they are for training.
void forward(const TransformerView& model, const PackedRows& rows, Activations& activations, Activations::Use use);

// With dL/doutput in activations.gradient(), adds dL/dparameters to `gradient` (laid out as the parameters).
// Overwrites gate_up and the scratch of `activations`. The bits do not depend on their use.
void backward(const TransformerView& model, const PackedRows& rows, Activations& activations, float* gradient);

// Log-probability (and entropy) of each target under softmax(logits·inverse_temperature).
void target_logprobs(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                     float inverse_temperature, float* logprob, float* entropy);

// Adds the head's part to `gradient` and leaves dL/doutput in activations.gradient() for `rows` rows.
void target_logprobs_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                              const Activations& activations, float inverse_temperature, const float* dlogprob,
                              const float* dentropy, float* gradient);

// Value of each target's row under a value head: what is expected before its token is known.
void target_values(const TransformerView& model, std::span<const Target> targets, const Activations& activations,
                   float* value);

// As target_logprobs_backward, for values.
void target_values_backward(const TransformerView& model, std::span<const Target> targets, std::int64_t rows,
                            const Activations& activations, const float* dvalue, float* gradient);

// logits f32[count, head_rows] of hidden states f32[count, hidden] (before the final norm); `normed` is scratch of
// the same shape.
void logits(const TransformerView& model, const float* hidden, std::int64_t count, float* normed, float* scales,
            float* out);

}  // namespace rlflow
