// What a model folder's config.json says: one configuration for every family of decoder that is read.
#include "nodes/format/model_config.h"

#include <algorithm>
#include <array>

#include "nodes/format/config_keys.h"
#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/rope_config.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 1u << 20;

struct Refusal {
  const char* name;
  const char* reason;
};

// Architectures that people have folders of, and why they are not read.
constexpr std::array<Refusal, 14> kRefusedTypes = {{
    {"gemma", "the first Gemma is not implemented; Gemma 3 is"},
    {"gemma2", "it soft-caps attention scores and logits, which is not implemented; Gemma 3 is"},
    {"gemma3", "it wraps a language model for images; save that alone (Gemma3ForCausalLM, model_type gemma3_text)"},
    {"gemma3n", "its layers are not those of Gemma 3"},
    {"llama4", "it has experts, which are not implemented"},
    {"mixtral", "it has experts, which are not implemented"},
    {"qwen2_moe", "it has experts, which are not implemented"},
    {"qwen3_moe", "it has experts, which are not implemented"},
    {"deepseek_v3", "it has experts, which are not implemented"},
    {"qwen2_vl", "it wraps a language model for images; save that alone"},
    {"qwen2_5_vl", "it wraps a language model for images; save that alone"},
    {"mllama", "it wraps a language model for images; save that alone"},
    {"mistral3", "it wraps a language model for images; save that alone (model_type mistral)"},
    {"phi3", "its fused projections and longrope are not implemented"},
}};

// Keys that change what any family computes, whatever their value.
constexpr std::array<Refusal, 8> kRefusedKeys = {{
    {"quantization_config", "give unquantized weights"},
    {"text_config", "it is a wrapper around a language model; save that alone"},
    {"vision_config", "it is a wrapper around a language model; save that alone"},
    {"num_experts", "models with experts are not implemented"},
    {"num_local_experts", "models with experts are not implemented"},
    {"n_routed_experts", "models with experts are not implemented"},
    {"attn_logit_softcapping", "soft-capping is not implemented"},
    {"final_logit_softcapping", "soft-capping is not implemented"},
}};

const FamilyRow& family_of(const Json& root) {
  const Json* type = config_value(root, "model_type");
  if (type && type->is_string()) {
    const auto& name = type->get_ref<const std::string&>();
    for (const FamilyRow& row : family_rows()) {
      if (row.model_type == name) return row;
    }
    for (const Refusal& refusal : kRefusedTypes) {
      if (refusal.name == name) throw FormatError("config.json: model_type is \"" + name + "\": " + refusal.reason);
    }
  }
  std::string known;
  for (const FamilyRow& row : family_rows()) known += (known.empty() ? "" : ", ") + std::string(row.model_type);
  throw FormatError("config.json: model_type is " + (type ? config_text(*type) : "missing") + ", only " + known +
                    " are supported");
}

void must_be(const Json& root, const char* key, const Json& only) {
  const Json* value = config_value(root, key);
  if (value && *value != only) {
    throw FormatError(std::string("config.json: ") + key + " is " + config_text(*value) + ", only " + only.dump() +
                      " is supported");
  }
}

void check_architecture(const Json& root, const FamilyRow& family) {
  const Json* architectures = config_value(root, "architectures");
  if (architectures && *architectures != Json::array({family.causal_class}) &&
      *architectures != Json::array({family.scoring_class})) {
    throw FormatError("config.json: architectures is " + config_text(*architectures) + ", a " +
                      std::string(family.model_type) + " model must be " + std::string(family.causal_class) + " or " +
                      std::string(family.scoring_class));
  }
  must_be(root, "pretraining_tp", 1);
  must_be(root, "attention_dropout", 0.0);
  must_be(root, "partial_rotary_factor", 1.0);
  must_be(root, "rope_interleaved", false);
  must_be(root, "use_bidirectional_attention", false);
  must_be(root, "add_cross_attention", false);
  must_be(root, "is_encoder_decoder", false);
  for (const char* key : {"torch_dtype", "dtype"}) {
    const Json* dtype = config_value(root, key);
    if (dtype && *dtype != "float32" && *dtype != "bfloat16" && *dtype != "float16") {
      throw FormatError(std::string("config.json: ") + key + " is " + config_text(*dtype) +
                        ", it must be float32, bfloat16 or float16");
    }
  }
}

void read_sizes(const Json& root, const FamilyRow& family, ModelConfig& config) {
  config.vocab_size = config_integer(root, "vocab_size", 2, 1 << 20);
  config.hidden_size = config_integer(root, "hidden_size", 2, 1 << 16);
  config.intermediate_size = config_integer(root, "intermediate_size", 1, 1 << 18);
  config.layers = config_integer(root, "num_hidden_layers", 1, 512);
  config.heads = config_integer(root, "num_attention_heads", 1, 512);
  // Where the family has a number for the absent key, null still means: as many as heads.
  const bool as_many = family.kv_heads == 0 || root.contains("num_key_value_heads");
  config.kv_heads = config_integer(root, "num_key_value_heads", 1, 512, as_many ? config.heads : family.kv_heads);
  if (config.heads % config.kv_heads != 0) {
    throw FormatError("config.json: num_key_value_heads " + std::to_string(config.kv_heads) +
                      " does not divide num_attention_heads " + std::to_string(config.heads));
  }
  const std::int64_t share = config.hidden_size / config.heads;
  config.head_dim = config_integer(root, "head_dim", 2, 512, family.head_dim == 0 ? share : family.head_dim);
  if (config.head_dim < 2 || config.head_dim > 512 || config.head_dim % 2 != 0) {
    throw FormatError("config.json: head_dim " + std::to_string(config.head_dim) +
                      " is not an even number from 2 to 512");
  }
  config.max_positions = config_integer(root, "max_position_embeddings", 1, 1 << 20, family.max_positions);
}

Activation read_activation(const Json& root, const FamilyRow& family) {
  const Json* value = config_value(root, family.activation_key);
  if (!value) return family.activation;
  if (*value == "silu" || *value == "swish") return Activation::silu;
  if (*value == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  throw FormatError(std::string("config.json: ") + family.activation_key + " is " + config_text(*value) +
                    ", only \"silu\" and \"gelu_pytorch_tanh\" are supported");
}

void read_shape_of_layers(const Json& root, ModelConfig& config) {
  switch (config.family) {
    case ModelFamily::llama:
      config.query_bias = config.output_bias = config_boolean(root, "attention_bias", false);
      config.mlp_bias = config_boolean(root, "mlp_bias", false);
      return;
    case ModelFamily::mistral: return;
    case ModelFamily::qwen2: config.query_bias = true; return;  // its config does not say so
    case ModelFamily::qwen3:
      config.query_bias = config.output_bias = config_boolean(root, "attention_bias", false);
      config.head_norms = true;
      return;
    case ModelFamily::gemma3:
      config.query_bias = config.output_bias = config_boolean(root, "attention_bias", false);
      config.head_norms = config.branch_norms = config.norms_from_one = config.scaled_embedding = true;
      config.query_scalar = config_number(root, "query_pre_attn_scalar", 1e-3, 1e6, 256);
      return;
  }
}

// Which layers slide where layer_types does not say.
bool slides_by_rule(const Json& root, const ModelConfig& config, std::int64_t layer) {
  switch (config.family) {
    case ModelFamily::llama: return false;
    case ModelFamily::mistral: return true;
    case ModelFamily::qwen2:
    case ModelFamily::qwen3: return layer >= config_integer(root, "max_window_layers", 0, 1 << 20, 28);
    case ModelFamily::gemma3: return (layer + 1) % config_integer(root, "sliding_window_pattern", 1, 512, 6) != 0;
  }
  return false;
}

std::vector<std::uint8_t> read_layer_types(const Json& types, std::int64_t layers) {
  if (!types.is_array() || types.size() != static_cast<std::size_t>(layers)) {
    throw FormatError("config.json: layer_types is not a list of " + std::to_string(layers) + " layers");
  }
  std::vector<std::uint8_t> sliding;
  for (const Json& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      throw FormatError("config.json: layer_types has " + config_text(type) +
                        ", only \"full_attention\" and \"sliding_attention\" are supported");
    }
    sliding.push_back(type == "sliding_attention");
  }
  return sliding;
}

// A window that is null (not absent) is none.
std::int64_t read_window(const Json& root, const ModelConfig& config, const FamilyRow& family) {
  const bool qwen = config.family == ModelFamily::qwen2 || config.family == ModelFamily::qwen3;
  if (family.sliding_window == 0 || (qwen && !config_boolean(root, "use_sliding_window", false))) return 0;
  const std::int64_t if_absent = root.contains("sliding_window") ? 0 : family.sliding_window;
  return config_integer(root, "sliding_window", 1, 1 << 28, if_absent);
}

void read_sliding(const Json& root, const FamilyRow& family, ModelConfig& config) {
  config.window = read_window(root, config, family);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    config.sliding.push_back(config.window > 0 && slides_by_rule(root, config, layer));
  }
  const Json* types = config_value(root, "layer_types");
  if (types && config.family != ModelFamily::llama) {
    std::vector<std::uint8_t> stated = read_layer_types(*types, config.layers);
    const bool some = std::find(stated.begin(), stated.end(), 1) != stated.end();
    if (some && config.window == 0) {
      throw FormatError("config.json: layer_types has sliding layers, but no sliding_window is in force");
    }
    if (config.family == ModelFamily::mistral && stated != config.sliding) {
      throw FormatError(
          "config.json: layer_types of a mistral model differ from its sliding_window, which rules all "
          "of its layers");
    }
    config.sliding = std::move(stated);
  }
  if (std::find(config.sliding.begin(), config.sliding.end(), 1) == config.sliding.end()) config.window = 0;
}

// eos_token_id: a number, or a list of them.
void add_end_ids(const Json& root, std::int64_t vocab_size, const std::string& file, std::vector<std::int32_t>& ids) {
  const Json* value = config_value(root, "eos_token_id");
  if (!value) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
      throw FormatError(file + ": eos_token_id " + config_text(id) + " is not in the vocabulary of " +
                        std::to_string(vocab_size));
    }
    auto end_id = id.get<std::int32_t>();
    if (std::find(ids.begin(), ids.end(), end_id) == ids.end()) ids.push_back(end_id);
  }
}

}  // namespace

std::int64_t ModelConfig::layer_matrices() const {
  const std::int64_t attention = hidden_size * (query_size() + 2 * kv_size()) + query_size() * hidden_size;
  return layers * (attention + 3 * hidden_size * intermediate_size);
}

std::int64_t ModelConfig::body() const {
  std::int64_t small = (branch_norms ? 4 : 2) * hidden_size;
  if (query_bias) small += query_size() + 2 * kv_size();
  if (output_bias) small += hidden_size;
  if (mlp_bias) small += 2 * intermediate_size + hidden_size;
  if (head_norms) small += 2 * head_dim;
  return vocab_size * hidden_size + layer_matrices() + layers * small + hidden_size;
}

ModelConfig parse_model_config(std::string_view json) {
  const Json root = parse_json(json, "config.json");
  if (!root.is_object()) throw FormatError("config.json: is not an object");
  const FamilyRow& family = family_of(root);
  for (const Refusal& refusal : kRefusedKeys) {
    if (config_value(root, refusal.name)) {
      throw FormatError(std::string("config.json: has ") + refusal.name + "; " + refusal.reason);
    }
  }
  check_architecture(root, family);
  ModelConfig config;
  config.family = family.family;
  read_sizes(root, family, config);
  config.rms_norm_eps = config_number(root, "rms_norm_eps", 1e-12, 1e-1, 1e-6);
  config.initializer_range = config_number(root, "initializer_range", 0.0, 10.0, 0.02);
  config.query_scalar = static_cast<double>(config.head_dim);
  config.activation = read_activation(root, family);
  read_shape_of_layers(root, config);
  read_sliding(root, family, config);
  const RopePair rope = read_rope(root, family, config.max_positions);
  config.rope = rope.full;
  config.local_rope = rope.local;
  config.tie_word_embeddings = config_boolean(root, "tie_word_embeddings", family.tied);
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
    const std::optional<std::int32_t> usual = family_row(config.family).end_id;
    const bool silent = !parse_json(config.json, "config.json").contains("eos_token_id");
    if (config.end_ids.empty() && silent && usual && *usual < config.vocab_size) config.end_ids = {*usual};
    if (config.end_ids.empty()) throw FormatError("config.json: has no eos_token_id, so no response could end");
    return config;
  } catch (const FormatError& error) {
    throw FormatError(folder.string() + ": " + error.what());
  }
}

void check_vocabulary(std::int64_t tokenizer_size, std::int64_t vocab_size, const std::filesystem::path& folder) {
  if (tokenizer_size <= vocab_size) return;
  throw FormatError(folder.string() + ": tokenizer.json has ids up to " + std::to_string(tokenizer_size - 1) +
                    ", but vocab_size of config.json is " + std::to_string(vocab_size) +
                    "; the two are of different models, or the embedding was not resized");
}

std::string exported_model_config(const ModelConfig& config, bool scored, const std::string& dtype) {
  const FamilyRow& family = family_row(config.family);
  Json json = parse_json(config.json, "config.json");
  json["architectures"] = {scored ? family.scoring_class : family.causal_class};
  if (scored) {
    json["id2label"] = {{"0", "LABEL_0"}};
    json["label2id"] = {{"LABEL_0", 0}};
  }
  json["torch_dtype"] = json["dtype"] = dtype;
  json["num_key_value_heads"] = config.kv_heads;
  json["head_dim"] = config.head_dim;
  json["max_position_embeddings"] = config.max_positions;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  write_rope({config.rope, config.local_rope}, family, json);
  if (family.sliding_window > 0 && config.family != ModelFamily::mistral) {
    Json types = Json::array();
    for (std::uint8_t slides : config.sliding) types.push_back(slides ? "sliding_attention" : "full_attention");
    json["layer_types"] = std::move(types);
  }
  return json.dump(2) + "\n";
}

}  // namespace rlflow
