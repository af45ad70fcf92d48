// Folders of tiny models of each family with random weights, norms and biases included.
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "nodes/model/parameters.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_export.h"
#include "runtime/contract/philox.h"

namespace rlflow::testing {

struct Family {
  std::string name;
  std::string config;
};

// Sizes are chosen so that both aligned and odd rows, grouped heads, and heads of 16 to 64 numbers occur.
inline const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"llama", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 203, "hidden_size": 60,
        "intermediate_size": 100, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
        "head_dim": 18, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "eos_token_id": 2,
        "tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true, "hidden_act": "silu"})"},
      {"qwen2", R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 256, "hidden_size": 128,
        "intermediate_size": 192, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 1,
        "head_dim": 64, "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "eos_token_id": 2, "tie_word_embeddings": true, "hidden_act": "silu"})"},
      {"qwen3", R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 256, "hidden_size": 64,
        "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 128, "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "eos_token_id": 2, "tie_word_embeddings": true, "hidden_act": "silu"})"},
      {"gemma3", R"({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "vocab_size": 264,
        "hidden_size": 72, "intermediate_size": 136, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 24, "query_pre_attn_scalar": 20, "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "sliding_window": 37,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "eos_token_id": 2,
        "hidden_activation": "gelu_pytorch_tanh"})"},
  };
  return all;
}

// Writes config.json and model.safetensors; what stood there is removed.
inline std::filesystem::path family_folder(const Family& family, Head head = Head::lm) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("rlflow_cuda_" + family.name + "_" + std::to_string(static_cast<int>(head)));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << family.config;
  const ModelConfig config = read_model_config(folder);
  const ParameterLayout layout(config, head);
  std::vector<float> parameters(static_cast<std::size_t>(layout.size));
  PhiloxStream stream(7);
  for (const ParameterSlot& slot : layout.slots) {
    const double middle = slot.role == ParameterRole::norm && !config.norms_from_one ? 1.0 : 0.0;
    const double spread = slot.role == ParameterRole::matrix ? 0.12 : 0.2;
    for (std::int64_t i = 0; i < slot.count; ++i) {
      parameters[static_cast<std::size_t>(slot.offset + i)] = static_cast<float>(middle + spread * stream.normal());
    }
  }
  write_weights(folder, slot_views(layout, parameters.data(), ""), kLargestWeightFile);
  return folder;
}

}  // namespace rlflow::testing
