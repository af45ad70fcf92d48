// What a model folder's config.json says: the shape of a Llama transformer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"

namespace rlflow {

// Every number lies in a range that makes all products of two of them fit in 64 bits.
struct ModelConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;         // num_hidden_layers
  std::int64_t heads = 0;          // num_attention_heads
  std::int64_t kv_heads = 0;       // num_key_value_heads; divides heads
  std::int64_t head_dim = 0;       // even
  std::int64_t max_positions = 0;  // max_position_embeddings
  double rms_norm_eps = 1e-5;
  double rope_theta = 10'000.0;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  std::vector<std::int32_t> end_ids;  // eos_token_id: one or several; never empty
  std::string json;                   // the text it was read from, for export

  std::int64_t query_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
};

// Throws FormatError naming the field: out of bounds, missing, or one whose value asks for something that is not
// implemented (another architecture, biases, RoPE scaling, another activation).
ModelConfig parse_model_config(std::string_view json);

// Reads `folder`/config.json; end ids of generation_config.json, where there is one, are added.
ModelConfig read_model_config(const std::filesystem::path& folder);

}  // namespace rlflow
