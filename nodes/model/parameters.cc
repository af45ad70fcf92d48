// Where each parameter of a transformer stands in one flat f32 buffer, and the buffer itself.
#include "nodes/model/parameters.h"

#include <sys/mman.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <new>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

class LayoutBuilder {
 public:
  explicit LayoutBuilder(ParameterLayout& layout) : layout_(layout) {}

  std::int64_t matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    return place({name, {rows, columns}, ParameterRole::matrix, layout_.size, rows * columns});
  }
  std::int64_t norm(const std::string& name, std::int64_t size) {
    return place({name, {size}, ParameterRole::norm, layout_.size, size});
  }
  std::int64_t bias(const std::string& name, std::int64_t size) {
    return place({name, {size}, ParameterRole::bias, layout_.size, size});
  }

 private:
  std::int64_t place(ParameterSlot slot) {
    layout_.size += slot.count;
    layout_.slots.push_back(std::move(slot));
    return layout_.slots.back().offset;
  }

  ParameterLayout& layout_;
};

void add_attention(LayoutBuilder& add, const ModelConfig& config, const std::string& prefix, LayerOffsets& at) {
  const std::int64_t hidden = config.hidden_size;
  at.query_key_value = add.matrix(prefix + "q_proj.weight", config.query_size(), hidden);
  add.matrix(prefix + "k_proj.weight", config.kv_size(), hidden);
  add.matrix(prefix + "v_proj.weight", config.kv_size(), hidden);
  if (config.query_bias) {
    at.query_key_value_bias = add.bias(prefix + "q_proj.bias", config.query_size());
    add.bias(prefix + "k_proj.bias", config.kv_size());
    add.bias(prefix + "v_proj.bias", config.kv_size());
  }
  if (config.head_norms) {
    at.query_norm = add.norm(prefix + "q_norm.weight", config.head_dim);
    at.key_norm = add.norm(prefix + "k_norm.weight", config.head_dim);
  }
  at.output = add.matrix(prefix + "o_proj.weight", hidden, config.query_size());
  if (config.output_bias) at.output_bias = add.bias(prefix + "o_proj.bias", hidden);
}

void add_mlp(LayoutBuilder& add, const ModelConfig& config, const std::string& prefix, LayerOffsets& at) {
  at.gate_up = add.matrix(prefix + "gate_proj.weight", config.intermediate_size, config.hidden_size);
  add.matrix(prefix + "up_proj.weight", config.intermediate_size, config.hidden_size);
  if (config.mlp_bias) {
    at.gate_up_bias = add.bias(prefix + "gate_proj.bias", config.intermediate_size);
    add.bias(prefix + "up_proj.bias", config.intermediate_size);
  }
  at.down = add.matrix(prefix + "down_proj.weight", config.hidden_size, config.intermediate_size);
  if (config.mlp_bias) at.down_bias = add.bias(prefix + "down_proj.bias", config.hidden_size);
}

void pack(const float* source, std::int64_t rows, std::int64_t columns, float* panels) {
  for (std::int64_t panel = 0; panel < rows; panel += cpu::kLanes) {
    const std::int64_t live = std::min(rows - panel, cpu::kLanes);
    for (std::int64_t t = 0; t < columns; ++t, panels += cpu::kLanes) {
      for (std::int64_t i = 0; i < cpu::kLanes; ++i) panels[i] = i < live ? source[(panel + i) * columns + t] : 0.0f;
    }
  }
}

}  // namespace

ParameterLayout::ParameterLayout(const ModelConfig& config, Head head_kind) : kind(head_kind) {
  LayoutBuilder add(*this);
  const std::int64_t hidden = config.hidden_size;
  embedding = add.matrix("model.embed_tokens.weight", config.vocab_size, hidden);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    LayerOffsets at;
    at.attention_norm = add.norm(prefix + "input_layernorm.weight", hidden);
    add_attention(add, config, prefix + "self_attn.", at);
    // Where branches have norms, the name of the norm before the MLP is that of the one after attention.
    if (config.branch_norms) at.attention_branch_norm = add.norm(prefix + "post_attention_layernorm.weight", hidden);
    const char* before = config.branch_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight";
    at.mlp_norm = add.norm(prefix + before, hidden);
    add_mlp(add, config, prefix + "mlp.", at);
    if (config.branch_norms) at.mlp_branch_norm = add.norm(prefix + "post_feedforward_layernorm.weight", hidden);
    layers.push_back(at);
  }
  final_norm = add.norm("model.norm.weight", hidden);
  head_rows = kind == Head::lm ? config.vocab_size : 1;
  if (kind == Head::lm) {
    head = config.tie_word_embeddings ? embedding : add.matrix("lm_head.weight", head_rows, hidden);
  } else {
    head = add.matrix(kScoreWeight, head_rows, hidden);
  }
}

at::Tensor make_floats(std::int64_t count) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (bytes < 2 * kHugePage) return at::empty({count}, at::kFloat);
  // Huge pages, where the system gives them: a read of all weights is a tenth faster, and the first touch of a buffer
  // much. What surrounds the aligned part is never touched.
  const std::size_t mapped = bytes + kHugePage;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  const auto at = reinterpret_cast<std::uintptr_t>(base);
  void* aligned = reinterpret_cast<void*>((at + kHugePage - 1) / kHugePage * kHugePage);
  madvise(aligned, bytes, MADV_HUGEPAGE);  // no more than advice
  return at::from_blob(
      aligned, {count}, [base, mapped](void*) { munmap(base, mapped); }, at::kFloat);
}

at::Tensor zero_floats(std::int64_t count) {
  at::Tensor tensor = make_floats(count);
  std::fill_n(floats(tensor), count, 0.0f);
  return tensor;
}

void initialise(const ModelConfig& config, const ParameterLayout& layout, std::uint64_t seed, float* parameters) {
  for (std::size_t s = 0; s < layout.slots.size(); ++s) {
    const ParameterSlot& slot = layout.slots[s];
    float* values = parameters + slot.offset;
    switch (slot.role) {
      case ParameterRole::norm: std::fill_n(values, slot.count, config.norms_from_one ? 0.0f : 1.0f); break;
      case ParameterRole::bias: std::fill_n(values, slot.count, 0.0f); break;
      case ParameterRole::matrix: {
        PhiloxStream stream(h64(RandomPurpose::init, {seed, s}));
        for (std::int64_t i = 0; i < slot.count; ++i) {
          values[i] = static_cast<float>(stream.normal() * config.initializer_range);
        }
      }
    }
  }
}

ForwardPanels::ForwardPanels(const ModelConfig& config, const ParameterLayout& layout) {
  for (const LayerOffsets& at : layout.layers) {
    layers_.push_back(
        {.query_key_value = {at.query_key_value, config.query_size() + 2 * config.kv_size(), config.hidden_size},
         .output = {at.output, config.hidden_size, config.query_size()},
         .gate_up = {at.gate_up, 2 * config.intermediate_size, config.hidden_size},
         .down = {at.down, config.hidden_size, config.intermediate_size}});
  }
  head_ = {layout.head, layout.head_rows, config.hidden_size};
}

void ForwardPanels::separate(Matrix& matrix) { matrix.panels = make_floats(cpu::padded(matrix.rows) * matrix.columns); }

void ForwardPanels::fill(const Matrix& matrix, const float* source) {
  pack(source, matrix.rows, matrix.columns, floats(matrix.panels));
}

void ForwardPanels::refresh(const float* parameters, std::int32_t threads) {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  run_lanes(layers + 1, threads, [&](std::int64_t i) {
    auto refresh_matrix = [&](Matrix& matrix) {
      if (!matrix.panels.defined()) separate(matrix);
      fill(matrix, parameters + matrix.source);
    };
    if (i == layers) return refresh_matrix(head_);
    Layer& at = layer(i);
    for (Matrix* matrix : {&at.query_key_value, &at.output, &at.gate_up, &at.down}) refresh_matrix(*matrix);
  });
}

}  // namespace rlflow
