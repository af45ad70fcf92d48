// What a model folder's config.json says: the shape of a Llama transformer.
#include "nodes/format/model_config.h"

#include <algorithm>
#include <cmath>

#include "nodes/format/file.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 1u << 20;

const Json* find(const Json& object, const char* key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t integer(const Json& root, const char* key, std::int64_t lo, std::int64_t hi,
                     const std::int64_t* fallback) {
  const Json* value = find(root, key);
  if (!value && fallback) return *fallback;
  if (!value) throw FormatError(std::string("config.json: has no ") + key);
  if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) ||
      value->get<std::int64_t>() < lo || value->get<std::int64_t>() > hi) {
    throw FormatError(std::string("config.json: ") + key + " is " + value->dump() +
                      ", it must be a whole number from " + std::to_string(lo) + " to " + std::to_string(hi));
  }
  return value->get<std::int64_t>();
}

double number(const Json& root, const char* key, double lo, double hi, double fallback) {
  const Json* value = find(root, key);
  if (!value) return fallback;
  if (!value->is_number() || !(value->get<double>() >= lo) || !(value->get<double>() <= hi)) {
    throw FormatError(std::string("config.json: ") + key + " is " + value->dump() + ", it must be a number from " +
                      Json(lo).dump() + " to " + Json(hi).dump());
  }
  return value->get<double>();
}

bool boolean(const Json& root, const char* key, bool fallback) {
  const Json* value = find(root, key);
  if (!value) return fallback;
  if (!value->is_boolean()) throw FormatError(std::string("config.json: ") + key + " is not true or false");
  return value->get<bool>();
}

void must_be(const Json& root, const char* key, const Json& only) {
  const Json* value = find(root, key);
  if (value && *value != only) {
    throw FormatError(std::string("config.json: ") + key + " is " + value->dump().substr(0, 80) + ", only " +
                      only.dump() + " is supported");
  }
}

void check_architecture(const Json& root) {
  const Json* type = find(root, "model_type");
  if (!type || *type != "llama") {
    throw FormatError("config.json: model_type is " + (type ? type->dump().substr(0, 80) : "missing") +
                      ", only \"llama\" is supported");
  }
  const Json* architectures = find(root, "architectures");
  const Json scored = Json::array({"LlamaForSequenceClassification"});
  if (architectures && *architectures != scored) must_be(root, "architectures", Json::array({"LlamaForCausalLM"}));
  must_be(root, "hidden_act", "silu");
  must_be(root, "attention_bias", false);
  must_be(root, "mlp_bias", false);
  must_be(root, "pretraining_tp", 1);
  const Json* quantization = find(root, "quantization_config");
  if (quantization) throw FormatError("config.json: quantization_config is not supported; give unquantized weights");
  const Json* dropout = find(root, "attention_dropout");
  if (dropout && (!dropout->is_number() || dropout->get<double>() != 0.0)) {
    throw FormatError("config.json: attention_dropout is " + dropout->dump() + ", only 0 is supported");
  }
}

// rope_theta stands at the top level, or in rope_parameters since transformers 5.
double read_rope_theta(const Json& root) {
  const Json* parameters = find(root, "rope_parameters");
  if (!parameters) parameters = find(root, "rope_scaling");
  double theta = number(root, "rope_theta", 1.0, 1e12, 10'000.0);
  if (!parameters) return theta;
  if (!parameters->is_object()) throw FormatError("config.json: RoPE parameters are not an object");
  const Json* type = find(*parameters, "rope_type");
  if (!type) type = find(*parameters, "type");
  if (type && *type != "default") {
    throw FormatError("config.json: RoPE scaling of type " + type->dump().substr(0, 80) +
                      " is not supported, only \"default\"");
  }
  for (const auto& item : parameters->items()) {
    if (item.key() != "rope_type" && item.key() != "type" && item.key() != "rope_theta") {
      throw FormatError("config.json: RoPE parameter " + json_quoted(item.key()) + " is not supported");
    }
  }
  return number(*parameters, "rope_theta", 1.0, 1e12, theta);
}

void check_dtype(const Json& root) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    const Json* dtype = find(root, key);
    if (!dtype) continue;
    const std::vector<std::string> known = {"float32", "bfloat16", "float16"};
    if (!dtype->is_string() || std::find(known.begin(), known.end(), dtype->get<std::string>()) == known.end()) {
      throw FormatError(std::string("config.json: ") + key + " is " + dtype->dump().substr(0, 80) +
                        ", it must be float32, bfloat16 or float16");
    }
  }
}

// eos_token_id: a number, or a list of them.
void add_end_ids(const Json& root, std::int64_t vocab_size, const std::string& file, std::vector<std::int32_t>& ids) {
  const Json* value = find(root, "eos_token_id");
  if (!value) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
      throw FormatError(file + ": eos_token_id " + id.dump().substr(0, 80) + " is not in the vocabulary of " +
                        std::to_string(vocab_size));
    }
    auto end_id = id.get<std::int32_t>();
    if (std::find(ids.begin(), ids.end(), end_id) == ids.end()) ids.push_back(end_id);
  }
}

}  // namespace

ModelConfig parse_model_config(std::string_view json) {
  const Json root = parse_json(json, "config.json");
  if (!root.is_object()) throw FormatError("config.json: is not an object");
  check_architecture(root);
  check_dtype(root);
  ModelConfig config;
  config.vocab_size = integer(root, "vocab_size", 2, 1 << 20, nullptr);
  config.hidden_size = integer(root, "hidden_size", 2, 1 << 16, nullptr);
  config.intermediate_size = integer(root, "intermediate_size", 1, 1 << 18, nullptr);
  config.layers = integer(root, "num_hidden_layers", 1, 512, nullptr);
  config.heads = integer(root, "num_attention_heads", 1, 512, nullptr);
  config.kv_heads = integer(root, "num_key_value_heads", 1, 512, &config.heads);
  if (config.heads % config.kv_heads != 0) {
    throw FormatError("config.json: num_key_value_heads " + std::to_string(config.kv_heads) +
                      " does not divide num_attention_heads " + std::to_string(config.heads));
  }
  const std::int64_t even_share = config.hidden_size / config.heads;
  config.head_dim = integer(root, "head_dim", 2, 512, &even_share);
  if (config.head_dim < 2 || config.head_dim % 2 != 0) {
    throw FormatError("config.json: head_dim " + std::to_string(config.head_dim) + " is not an even number >= 2");
  }
  const std::int64_t positions = 2048;
  config.max_positions = integer(root, "max_position_embeddings", 1, 1 << 20, &positions);
  config.rms_norm_eps = number(root, "rms_norm_eps", 1e-12, 1e-1, 1e-6);
  config.rope_theta = read_rope_theta(root);
  config.initializer_range = number(root, "initializer_range", 0.0, 10.0, 0.02);
  config.tie_word_embeddings = boolean(root, "tie_word_embeddings", false);
  add_end_ids(root, config.vocab_size, "config.json", config.end_ids);
  config.json = json;
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& folder) {
  try {
    ModelConfig config = parse_model_config(read_text_file(folder / "config.json", kMaxConfigBytes));
    const std::filesystem::path generation = folder / "generation_config.json";
    if (std::filesystem::exists(generation)) {
      const Json root = parse_json(read_text_file(generation, kMaxConfigBytes), "generation_config.json");
      if (!root.is_object()) throw FormatError("generation_config.json: is not an object");
      add_end_ids(root, config.vocab_size, "generation_config.json", config.end_ids);
    }
    if (config.end_ids.empty()) throw FormatError("config.json: has no eos_token_id, so no response could end");
    return config;
  } catch (const FormatError& error) {
    throw FormatError(folder.string() + ": " + error.what());
  }
}

}  // namespace rlflow
