// Models of known shapes with random weights on a GPU, made in seconds: no weights are read, nothing is learnt.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "nodes/model/cuda_model.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/philox.h"

namespace rlflow::bench {

// "0.5b", "1.5b" or "7b": the shapes of Qwen2.5.
inline std::string qwen_config(const std::string& shape) {
  struct Sizes {
    int hidden, inner, layers, heads, kv_heads, vocabulary;
    bool tied;
  };
  const Sizes s = shape == "7b"     ? Sizes{3584, 18944, 28, 28, 4, 152064, false}
                  : shape == "1.5b" ? Sizes{1536, 8960, 28, 12, 2, 151936, true}
                                    : Sizes{896, 4864, 24, 14, 2, 151936, true};
  return R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": )" +
         std::to_string(s.vocabulary) + R"(, "hidden_size": )" + std::to_string(s.hidden) +
         R"(, "intermediate_size": )" + std::to_string(s.inner) + R"(, "num_hidden_layers": )" +
         std::to_string(s.layers) + R"(, "num_attention_heads": )" + std::to_string(s.heads) +
         R"(, "num_key_value_heads": )" + std::to_string(s.kv_heads) +
         R"(, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "eos_token_id": 2,
            "hidden_act": "silu", "tie_word_embeddings": )" +
         (s.tied ? "true}" : "false}");
}

// Matrices uniform with standard deviation 0.02, norms 1, biases 0.
inline std::unique_ptr<CudaModel> random_model(const std::string& shape, bool trainable, std::int32_t threads) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("rlflow_gpu_" + shape);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << qwen_config(shape);
  auto model = CudaModel::allocate(folder, {DeviceKind::gpu, 0, threads, Dtype::bf16, trainable});
  std::filesystem::remove_all(folder);
  const ParameterLayout& layout = model->layout();
  const at::Tensor parameters = make_floats(layout.size);
  for (const ParameterSlot& slot : layout.slots) {
    float* values = floats(parameters) + slot.offset;
    constexpr std::int64_t kPart = 1 << 20;
    run_lanes((slot.count + kPart - 1) / kPart, threads, [&](std::int64_t part) {
      for (std::int64_t i = part * kPart; i < std::min(slot.count, (part + 1) * kPart); ++i) {
        const std::uint64_t word = mix64(static_cast<std::uint64_t>(slot.offset + i) * 0x9e3779b97f4a7c15ULL + 1);
        const float unit = static_cast<float>(word >> 40) * 0x1p-24f - 0.5f;
        values[i] = slot.role == ParameterRole::matrix ? unit * 0.02f * 3.4641016f
                                                       : (slot.role == ParameterRole::norm ? 1.0f : 0.0f);
      }
    });
  }
  model->set_parameters(floats(parameters));
  return model;
}

}  // namespace rlflow::bench
