// The families of models that are read, and what each means by a key that its config.json does not have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rlflow {

enum class ModelFamily { llama, mistral, qwen2, qwen3, gemma3 };

enum class Activation { silu, gelu_tanh };

// One row for each family; the values for absent keys are those of transformers' configuration class, which
// tests/oracle compares.
struct FamilyRow {
  ModelFamily family;
  std::string_view model_type;
  std::string_view causal_class;   // architectures[0] of a model with a token head
  std::string_view scoring_class;  // of one with a head of one row
  const char* activation_key;
  Activation activation;
  std::int64_t kv_heads;  // 0: as many as heads
  std::int64_t head_dim;  // 0: hidden_size / heads
  std::int64_t max_positions;
  double rope_theta, local_rope_theta;  // of full and of sliding layers
  std::int64_t sliding_window;          // 0: this family's layers never slide
  bool tied;
  std::optional<std::int32_t> end_id;
};

std::span<const FamilyRow> family_rows();
const FamilyRow& family_row(ModelFamily family);

}  // namespace rlflow
