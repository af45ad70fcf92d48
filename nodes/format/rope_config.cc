// The RoPE parameters of a config.json, in the dialect of transformers 4 or 5.
#include "nodes/format/rope_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "nodes/format/config_keys.h"
#include "nodes/format/format_error.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr double kMaxTheta = 1e12, kMaxFactor = 1e6;

bool two_thetas(const FamilyRow& family) { return family.rope_theta != family.local_rope_theta; }

RopeScaling scaling_of(const Json& object) {
  const Json* type = config_value(object, "rope_type");
  if (!type) type = config_value(object, "type");
  if (!type || *type == "default") return RopeScaling::none;
  if (*type == "linear") return RopeScaling::linear;
  if (*type == "llama3") return RopeScaling::llama3;
  throw FormatError("config.json: RoPE scaling of type " + config_text(*type) +
                    " is not supported, only \"default\", \"linear\" and \"llama3\"; where the folder also works "
                    "without scaling at a shorter length, remove it and lower max_position_embeddings");
}

void check_keys(const Json& object, RopeScaling scaling) {
  for (const auto& [key, value] : object.items()) {
    bool known = key == "rope_type" || key == "type" || key == "rope_theta";
    known |= key == "factor" && scaling != RopeScaling::none;
    known |= scaling == RopeScaling::llama3 &&
             (key == "low_freq_factor" || key == "high_freq_factor" || key == "original_max_position_embeddings");
    if (key == "partial_rotary_factor" && (value.is_null() || value == 1.0)) known = true;
    if (!known) throw FormatError("config.json: RoPE parameter " + json_quoted(key) + " is not supported");
  }
}

// One set of parameters; `root` is asked where llama3 does not say the length before scaling.
RopeParameters read_parameters(const Json& object, const Json& root, double theta, std::int64_t max_positions) {
  if (!object.is_object()) throw FormatError("config.json: RoPE parameters are not an object");
  RopeParameters rope;
  rope.scaling = scaling_of(object);
  check_keys(object, rope.scaling);
  rope.theta = config_number(object, "rope_theta", 1.0, kMaxTheta, theta);
  if (rope.scaling != RopeScaling::none) rope.factor = config_number(object, "factor", 1e-3, kMaxFactor);
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = config_number(object, "low_freq_factor", 1e-3, kMaxFactor);
    rope.high_freq_factor = config_number(object, "high_freq_factor", 1e-3, kMaxFactor);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      throw FormatError("config.json: high_freq_factor must be greater than low_freq_factor");
    }
    const char* key = "original_max_position_embeddings";
    const Json& holder = config_value(root, key) ? root : object;
    rope.original_positions = config_integer(holder, key, 1, 1 << 20, max_positions);
  }
  return rope;
}

[[noreturn]] void contradiction(const std::string& what) {
  throw FormatError("config.json: says " + what + " twice and differently; transformers 4 and 5 would read two " +
                    "models, so keep the right one");
}

// theta at the top level (transformers 4).
std::optional<double> outer_theta(const Json& root, const char* key) {
  if (!config_value(root, key)) return std::nullopt;
  return config_number(root, key, 1.0, kMaxTheta);
}

void check_theta(const std::optional<double>& outer, const RopeParameters& rope, const char* key) {
  if (outer && *outer != rope.theta) contradiction(key);
}

RopePair read_flat(const Json& root, const FamilyRow& family, std::int64_t max_positions) {
  const std::optional<double> outer = outer_theta(root, "rope_theta");
  const double theta = outer.value_or(family.rope_theta);
  const Json empty = Json::object();
  const Json* old = config_value(root, "rope_scaling");
  const Json* parameters = config_value(root, "rope_parameters");
  for (const char* layer_type : {"full_attention", "sliding_attention"}) {
    if (parameters && parameters->is_object() && parameters->contains(layer_type)) {
      throw FormatError("config.json: rope_parameters by layer type are only read for gemma3_text");
    }
  }
  const Json& first = parameters ? *parameters : old ? *old : empty;
  const RopeParameters rope = read_parameters(first, root, theta, max_positions);
  check_theta(outer, rope, "rope_theta");
  if (parameters && old) {
    RopeParameters other = read_parameters(*old, root, theta, max_positions);
    if (!config_value(*old, "rope_theta")) other.theta = rope.theta;
    if (other != rope) contradiction("the RoPE scaling");
  }
  return {rope, rope};
}

// Gemma 3: rope_theta, rope_scaling and rope_local_base_freq, or rope_parameters by layer type.
RopePair read_by_layer_type(const Json& root, const FamilyRow& family, std::int64_t max_positions) {
  const std::optional<double> outer = outer_theta(root, "rope_theta"),
                              local = outer_theta(root, "rope_local_base_freq");
  const Json empty = Json::object();
  const Json* old = config_value(root, "rope_scaling");
  const Json* parameters = config_value(root, "rope_parameters");
  if (parameters && !parameters->is_object()) throw FormatError("config.json: rope_parameters are not an object");
  for (const auto& [key, value] : (parameters ? *parameters : empty).items()) {
    if (key == "full_attention" || key == "sliding_attention") continue;
    throw FormatError("config.json: rope_parameters of gemma3_text stand by layer type (full_attention, " +
                      std::string("sliding_attention), but it has ") + json_quoted(key));
  }
  const auto part = [&](const char* key) -> const Json& {
    const Json* value = parameters ? config_value(*parameters, key) : nullptr;
    return value ? *value : empty;
  };
  RopePair pair;
  const bool stated = parameters && config_value(*parameters, "full_attention");
  const Json& full = stated || !old ? part("full_attention") : *old;
  pair.full = read_parameters(full, root, outer.value_or(family.rope_theta), max_positions);
  pair.local = read_parameters(part("sliding_attention"), root, local.value_or(family.local_rope_theta), max_positions);
  if (pair.local.scaling != RopeScaling::none) {
    throw FormatError(
        "config.json: RoPE scaling of sliding_attention layers is not supported; transformers 4 cannot "
        "say it");
  }
  check_theta(outer, pair.full, "rope_theta");
  check_theta(local, pair.local, "rope_local_base_freq");
  if (stated && old) {
    RopeParameters other = read_parameters(*old, root, pair.full.theta, max_positions);
    if (other != pair.full) contradiction("the RoPE scaling");
  }
  return pair;
}

Json scaling_json(const RopeParameters& rope) {
  switch (rope.scaling) {
    case RopeScaling::none: return {{"rope_type", "default"}};
    case RopeScaling::linear: return {{"rope_type", "linear"}, {"factor", rope.factor}};
    case RopeScaling::llama3:
      return {{"rope_type", "llama3"},
              {"factor", rope.factor},
              {"low_freq_factor", rope.low_freq_factor},
              {"high_freq_factor", rope.high_freq_factor},
              {"original_max_position_embeddings", rope.original_positions}};
  }
  return nullptr;
}

Json with_theta(const RopeParameters& rope) {
  Json json = scaling_json(rope);
  json["rope_theta"] = rope.theta;
  return json;
}

}  // namespace

RopePair read_rope(const Json& config, const FamilyRow& family, std::int64_t max_positions) {
  return two_thetas(family) ? read_by_layer_type(config, family, max_positions)
                            : read_flat(config, family, max_positions);
}

void write_rope(const RopePair& rope, const FamilyRow& family, Json& config) {
  config["rope_theta"] = rope.full.theta;
  config["rope_scaling"] = rope.full.scaling == RopeScaling::none ? Json(nullptr) : scaling_json(rope.full);
  if (!two_thetas(family)) {
    config["rope_parameters"] = with_theta(rope.full);
    return;
  }
  config["rope_local_base_freq"] = rope.local.theta;
  config["rope_parameters"] = {{"full_attention", with_theta(rope.full)},
                               {"sliding_attention", with_theta(rope.local)}};
}

}  // namespace rlflow
