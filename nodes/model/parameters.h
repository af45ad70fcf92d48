// Where each parameter of a transformer stands in one flat f32 buffer, and the buffer itself.
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

enum class ParameterRole { matrix, norm, bias };

// One tensor under its Hugging Face name; row-major at `offset` floats.
struct ParameterSlot {
  std::string name;
  std::vector<std::int64_t> shape;
  ParameterRole role = ParameterRole::matrix;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

// Tensors of one flat buffer, by offset and without gaps.
struct SlotTable {
  std::vector<ParameterSlot> slots;
  std::int64_t size = 0;  // floats
};

inline constexpr std::int64_t kAbsent = -1;

// Offsets of what one layer reads at once: the projections of query, key and value adjoin, and so do gate and up, and
// the biases of each. kAbsent: the model has no such parameter.
struct LayerOffsets {
  std::int64_t attention_norm = kAbsent, query_key_value = kAbsent, query_key_value_bias = kAbsent;
  std::int64_t query_norm = kAbsent, key_norm = kAbsent;  // of each head, [head_dim]
  std::int64_t output = kAbsent, output_bias = kAbsent;
  std::int64_t attention_branch_norm = kAbsent;  // of what attention adds
  std::int64_t mlp_norm = kAbsent, gate_up = kAbsent, gate_up_bias = kAbsent, down = kAbsent, down_bias = kAbsent;
  std::int64_t mlp_branch_norm = kAbsent;  // of what the MLP adds
};

// A value or reward head is one row, score.weight [1, hidden], in the place of the vocabulary's; it stands last.
struct ParameterLayout : SlotTable {
  explicit ParameterLayout(const ModelConfig& config, Head head = Head::lm);

  std::vector<LayerOffsets> layers;
  std::int64_t embedding = 0, final_norm = 0;
  Head kind = Head::lm;
  std::int64_t head = 0;  // equals `embedding` where the two are tied
  std::int64_t head_rows = 0;
};

at::Tensor make_floats(std::int64_t count);  // f32[count], not initialised, aligned to 64 bytes
at::Tensor zero_floats(std::int64_t count);
inline float* floats(const at::Tensor& tensor) { return tensor.data_ptr<float>(); }

// Draws every matrix from N(0, initializer_range), sets biases to 0 and norms to multiply by 1. Element i of slot s is
// number i of the Philox stream of (init, seed, s).
void initialise(const ModelConfig& config, const ParameterLayout& layout, std::uint64_t seed, float* parameters);

// The matrices as the forward pass reads them: transposed in panels of 16 output columns (kernels.h, Product::b). A
// copy shares the memory of its original until a matrix is given some of its own.
class ForwardPanels {
 public:
  ForwardPanels(const ModelConfig& config, const ParameterLayout& layout);

  struct Matrix {
    std::int64_t source;  // offset in the flat buffer
    std::int64_t rows, columns;
    at::Tensor panels = {};
  };
  struct Layer {
    Matrix query_key_value, output, gate_up, down;
  };

  // To be called whenever the parameters have changed; `threads` share the work.
  void refresh(const float* parameters, std::int32_t threads);
  // Gives `matrix` memory of its own where it has none, or shares it.
  void separate(Matrix& matrix);
  // Packs `source` f32[rows, columns] into the memory of `matrix`.
  static void fill(const Matrix& matrix, const float* source);

  Layer& layer(std::int64_t i) { return layers_[static_cast<std::size_t>(i)]; }
  const Layer& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  const Matrix& head() const { return head_; }
  const float* panels(const Matrix& matrix) const { return floats(matrix.panels); }

 private:
  std::vector<Layer> layers_;
  Matrix head_{};
};

}  // namespace rlflow
