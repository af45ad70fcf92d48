// How large is a model? Counts of parameters from any decoder's config.json, for plans; nothing is loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "nodes/format/format_error.h"

namespace rlflow {

// A decoder with gated MLPs and RMS norms: the Llama, Mistral, Qwen2 and Qwen3 families. Every number is bounded, so
// that counts of any of them fit in 64 bits.
struct ModelShape {
  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t positions = 0;  // 0: the file does not say
  bool tied = false;           // the output matrix is the embedding
  bool query_bias = false;     // of the query, key and value projections
  bool output_bias = false;    // of attention's output projection
  bool mlp_bias = false;
  bool head_norms = false;  // RMS norms of query and key heads (Qwen3)

  std::int64_t query_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
  // Entries of the matrices of all layers, which every token passes.
  std::int64_t layer_matrices() const;
  // Everything but the output head: embedding, layers, norms and biases.
  std::int64_t body() const;
  // With the head that generates tokens (`rows` = vocab, nothing more where tied) or a head of one row.
  std::int64_t with_token_head() const { return body() + (tied ? 0 : vocab * hidden); }
  std::int64_t with_score_head() const { return body() + hidden; }
};

// Throws FormatError naming the key that is missing, out of bounds, or asks for what cannot be counted (experts).
ModelShape parse_model_shape(std::string_view json);
ModelShape read_model_shape(const std::filesystem::path& folder);  // reads config.json

}  // namespace rlflow
