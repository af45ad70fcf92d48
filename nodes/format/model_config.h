// What a model folder's config.json says: one configuration for every family of decoder that is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"
#include "nodes/format/model_family.h"
#include "nodes/format/rope_parameters.h"

namespace rlflow {

// A decoder with gated MLPs and RMS norms. Every number lies in a range that makes all products of two of them, and
// all counts below, fit in 64 bits.
struct ModelConfig {
  ModelFamily family = ModelFamily::llama;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;         // num_hidden_layers
  std::int64_t heads = 0;          // num_attention_heads
  std::int64_t kv_heads = 0;       // num_key_value_heads; divides heads
  std::int64_t head_dim = 0;       // even
  std::int64_t max_positions = 0;  // max_position_embeddings
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  double query_scalar = 0;            // scores are divided by its root: head_dim, or query_pre_attn_scalar
  RopeParameters rope;                // of layers that see everything
  RopeParameters local_rope;          // of sliding layers
  std::int64_t window = 0;            // keys that a sliding layer sees, a token's own among them
  std::vector<std::uint8_t> sliding;  // one a layer, 1: it sees only the window
  Activation activation = Activation::silu;
  bool query_bias = false;   // of the query, key and value projections
  bool output_bias = false;  // of attention's output projection
  bool mlp_bias = false;
  bool head_norms = false;        // RMS norms of query and key heads (Qwen 3, Gemma 3)
  bool branch_norms = false;      // norms also of what attention and MLP add (Gemma 3)
  bool norms_from_one = false;    // a norm multiplies by 1 + weight (Gemma 3)
  bool scaled_embedding = false;  // embeddings are multiplied by √hidden_size (Gemma 3)
  bool tie_word_embeddings = false;
  std::vector<std::int32_t> end_ids;  // eos_token_id: one or several; never empty where a folder was read
  std::string json;                   // the text it was read from, for export

  std::int64_t query_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
  bool slides(std::int64_t layer) const { return sliding[static_cast<std::size_t>(layer)] != 0; }

  // Entries of the matrices of all layers, which every token passes.
  std::int64_t layer_matrices() const;
  // Everything but the output head: embedding, layers, norms and biases.
  std::int64_t body() const;
  // With the head that generates tokens (nothing more where it is tied) or a head of one row.
  std::int64_t with_token_head() const { return body() + (tie_word_embeddings ? 0 : vocab_size * hidden_size); }
  std::int64_t with_score_head() const { return body() + hidden_size; }
};

// Reads the text of a config.json as transformers 4 or 5 writes it. Absent keys mean what they mean in transformers
// (model_family.h); the sizes of the model must stand there. Keys that transformers does not read for the family are
// left unread here too. Throws FormatError naming the key: missing, out of bounds, said twice and differently, or
// asking for something that is not implemented (another architecture, experts, soft-capped scores, another RoPE
// scaling), with what to do.
ModelConfig parse_model_config(std::string_view json);

// Reads `folder`/config.json; end ids of generation_config.json, where there is one, are added.
ModelConfig read_model_config(const std::filesystem::path& folder);

// Throws FormatError where the tokenizer has ids that the model does not embed. A model may have more rows than its
// tokenizer ids: many are padded.
void check_vocabulary(std::int64_t tokenizer_size, std::int64_t vocab_size, const std::filesystem::path& folder);

// The config.json of exported weights: that of the source with every key that the dialects of transformers 4 and 5
// spell differently in both spellings. `scored`: the head is score.weight [1, hidden]; `dtype`: "float32" or
// "bfloat16".
std::string exported_model_config(const ModelConfig& config, bool scored, const std::string& dtype = "float32");

}  // namespace rlflow
