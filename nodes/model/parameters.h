// Where each parameter of a Llama transformer stands in one flat f32 buffer, and the buffer itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nodes/format/model_config.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// The head of critics and reward models, as transformers names it.
inline constexpr const char* kScoreWeight = "score.weight";

enum class ParameterRole { matrix, norm };

// One tensor under its Hugging Face name; row-major at `offset` floats.
struct ParameterSlot {
  std::string name;
  std::vector<std::int64_t> shape;
  ParameterRole role = ParameterRole::matrix;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

// Offsets of what one layer reads at once: the projections of query, key and value adjoin, and so do gate and up.
struct LayerOffsets {
  std::int64_t attention_norm, query_key_value, output, mlp_norm, gate_up, down;
};

// A value or reward head is one row, score.weight [1, hidden], in the place of the vocabulary's; it stands last.
struct ParameterLayout {
  explicit ParameterLayout(const ModelConfig& config, Head head = Head::lm);

  std::vector<ParameterSlot> slots;  // by offset, without gaps
  std::vector<LayerOffsets> layers;
  std::int64_t embedding = 0, final_norm = 0;
  Head kind = Head::lm;
  std::int64_t head = 0;  // equals `embedding` where the two are tied
  std::int64_t head_rows = 0;
  std::int64_t size = 0;  // floats
};

at::Tensor make_floats(std::int64_t count);  // f32[count], not initialised, aligned to 64 bytes
at::Tensor zero_floats(std::int64_t count);
inline float* floats(const at::Tensor& tensor) { return tensor.data_ptr<float>(); }

// Draws every matrix from N(0, initializer_range) and sets norms to 1. Element i of slot s is number i of the Philox
// stream of (init, seed, s).
void initialise(const ParameterLayout& layout, double initializer_range, std::uint64_t seed, float* parameters);

// The matrices as the forward pass reads them: transposed in panels of 16 output columns (kernels.h, Product::b).
class ForwardPanels {
 public:
  ForwardPanels(const ModelConfig& config, const ParameterLayout& layout);

  // To be called whenever the parameters have changed; `threads` share the work.
  void refresh(const float* parameters, std::int32_t threads);

  struct Matrix {
    std::int64_t source;  // offset in the flat buffer
    std::int64_t rows, columns;
    std::int64_t at;  // offset in the panels
  };
  struct Layer {
    Matrix query_key_value, output, gate_up, down;
  };
  const Layer& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  const Matrix& head() const { return head_; }
  const float* panels(const Matrix& matrix) const { return floats(storage_) + matrix.at; }

 private:
  std::vector<Layer> layers_;
  Matrix head_{};
  at::Tensor storage_;
};

}  // namespace rlflow
