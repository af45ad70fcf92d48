// The keys of config.json that decide a model's size.
#include "nodes/format/model_shape.h"

#include <initializer_list>
#include <string>

#include "nodes/format/file.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 1u << 20;

const Json* present(const Json& root, const char* key) {
  auto found = root.find(key);
  return found == root.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t count(const Json& root, const char* key, std::int64_t most, const std::int64_t* fallback = nullptr) {
  const Json* value = present(root, key);
  if (value == nullptr && fallback != nullptr) return *fallback;
  if (value == nullptr) throw FormatError(std::string("config.json: has no ") + key);
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() == 0 ||
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    throw FormatError(std::string("config.json: ") + key + " is " + value->dump().substr(0, 80) +
                      ", it must be a whole number from 1 to " + std::to_string(most));
  }
  return value->get<std::int64_t>();
}

bool truth(const Json& root, const char* key, bool fallback) {
  const Json* value = present(root, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw FormatError(std::string("config.json: ") + key + " is not true or false");
  return value->get<bool>();
}

void refuse_experts(const Json& root) {
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    if (present(root, key) != nullptr) {
      throw FormatError(std::string("config.json: has ") + key + "; models with experts cannot be counted");
    }
  }
}

}  // namespace

std::int64_t ModelShape::layer_matrices() const {
  const std::int64_t attention = hidden * (query_size() + 2 * kv_size()) + query_size() * hidden;
  return layers * (attention + 3 * hidden * intermediate);
}

std::int64_t ModelShape::body() const {
  std::int64_t small = 2 * hidden;  // two norms
  if (query_bias) small += query_size() + 2 * kv_size();
  if (output_bias) small += hidden;
  if (mlp_bias) small += 2 * intermediate + hidden;
  if (head_norms) small += 2 * head_dim;
  return vocab * hidden + layer_matrices() + layers * small + hidden;
}

ModelShape parse_model_shape(std::string_view json) {
  const Json root = parse_json(json, "config.json");
  if (!root.is_object()) throw FormatError("config.json: is not an object");
  refuse_experts(root);
  ModelShape shape;
  shape.vocab = count(root, "vocab_size", 1 << 20);
  shape.hidden = count(root, "hidden_size", 1 << 16);
  shape.intermediate = count(root, "intermediate_size", 1 << 18);
  shape.layers = count(root, "num_hidden_layers", 512);
  shape.heads = count(root, "num_attention_heads", 512);
  shape.kv_heads = count(root, "num_key_value_heads", 512, &shape.heads);
  const std::int64_t share = shape.hidden / shape.heads;
  shape.head_dim = count(root, "head_dim", 512, &share);
  if (present(root, "max_position_embeddings") != nullptr) {
    shape.positions = count(root, "max_position_embeddings", 1 << 28);
  }
  const Json* type = present(root, "model_type");
  const std::string family = type != nullptr && type->is_string() ? type->get<std::string>() : "";
  // Qwen2's code has biases on query, key and value and none on the output; its config does not say so.
  const bool stated = truth(root, "attention_bias", false);
  shape.query_bias = stated || family == "qwen2";
  shape.output_bias = stated;
  shape.mlp_bias = truth(root, "mlp_bias", false);
  shape.head_norms = family == "qwen3";
  shape.tied = truth(root, "tie_word_embeddings", false);
  return shape;
}

ModelShape read_model_shape(const std::filesystem::path& folder) {
  try {
    return parse_model_shape(read_text_file(folder / "config.json", kMaxConfigBytes));
  } catch (const FormatError& error) {
    throw FormatError(folder.string() + ": " + error.what());
  }
}

}  // namespace rlflow
