// Small random models of every family, on the CPU and with equal weights on the GPU.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "nodes/cuda/device.h"
#include "nodes/model/cuda_model.h"
#include "nodes/model/rotary.h"
#include "nodes/model/transformer.h"
#include "runtime/contract/philox.h"

namespace rlflow::testing {

struct Family {
  std::string name;
  std::string keys;  // of config.json, beside the sizes
};

inline const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"llama", R"("model_type": "llama", "architectures": ["LlamaForCausalLM"], "rope_theta": 10000.0)"},
      {"llama_biases",
       R"("model_type": "llama", "architectures": ["LlamaForCausalLM"], "rope_theta": 10000.0, "attention_bias": true,
          "mlp_bias": true, "hidden_act": "gelu_pytorch_tanh")"},
      {"qwen2",
       R"("model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "rope_theta": 1000000.0,
          "tie_word_embeddings": true)"},
      {"qwen3", R"("model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "rope_theta": 1000000.0)"},
      {"gemma3",
       R"("model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "query_pre_attn_scalar": 20,
          "sliding_window": 11, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
          "hidden_activation": "gelu_pytorch_tanh")"},
  };
  return all;
}

struct TwinSizes {
  std::int64_t head_dim = 16;
  std::int64_t hidden = 64;
  std::int64_t inner = 96;
  std::int64_t vocabulary = 320;
  std::int64_t heads = 4, kv_heads = 2;
};

inline float bf16_rounded(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

// Weights are drawn here, norms and biases too; in bf16 the CPU's are rounded to what the GPU holds.
class Twins {
 public:
  Twins(const Family& family, cuda::Element element, const TwinSizes& sizes = {}) {
    folder_ = std::filesystem::temp_directory_path() / ("rlflow_twins_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    std::ofstream(folder_ / "config.json")
        << "{" << family.keys << R"(, "hidden_size": )" << number(sizes.hidden) << R"(, "intermediate_size": )"
        << number(sizes.inner) << R"(, "num_hidden_layers": 3, "num_attention_heads": )" << number(sizes.heads)
        << R"(, "num_key_value_heads": )" << number(sizes.kv_heads) << R"(, "head_dim": )" << number(sizes.head_dim)
        << R"(, "max_position_embeddings": 512, "vocab_size": )" << number(sizes.vocabulary)
        << R"(, "eos_token_id": [2, 7], "rms_norm_eps": 1e-6, "initializer_range": 0.02})";
    ModelPlace place;
    place.device = DeviceKind::gpu;
    place.dtype = element == cuda::Element::bf16 ? Dtype::bf16 : Dtype::f32;
    model_ = CudaModel::draw(folder_, 1, place);
    weights_.resize(static_cast<std::size_t>(layout().size));
    PhiloxStream stream(99);
    for (const ParameterSlot& slot : layout().slots) {
      // Matrices keep the size of what passes them; the rest is as large as matters.
      const double spread =
          slot.role == ParameterRole::matrix ? 1.2 / std::sqrt(static_cast<double>(slot.shape.back())) : 0.3;
      const bool from_one = slot.role == ParameterRole::norm && !config().norms_from_one;
      for (std::int64_t i = 0; i < slot.count; ++i) {
        const auto value = static_cast<float>((from_one ? 1.0 : 0.0) + spread * stream.normal());
        weights_[static_cast<std::size_t>(slot.offset + i)] =
            element == cuda::Element::bf16 ? bf16_rounded(value) : value;
      }
    }
    model_->set_parameters(weights_.data());
    panels_ = std::make_unique<ForwardPanels>(config(), layout());
    panels_->refresh(weights_.data(), 1);
    rotary_ = std::make_unique<RotaryTables>(config());
  }
  ~Twins() { std::filesystem::remove_all(folder_); }
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;

  const ModelConfig& config() const { return model_->config(); }
  const ParameterLayout& layout() const { return model_->layout(); }
  TransformerView on_cpu() const { return {config(), layout(), weights_.data(), *panels_, *rotary_}; }
  const CudaModel& on_gpu() const { return *model_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<CudaModel> model_;
  std::vector<float> weights_;
  std::unique_ptr<ForwardPanels> panels_;
  std::unique_ptr<RotaryTables> rotary_;
};

#define RLFLOW_NEEDS_GPU() \
  if (::rlflow::cuda::device_count() == 0) GTEST_SKIP() << "no GPU"

}  // namespace rlflow::testing
