// The RoPE parameters of a config.json, in the dialect of transformers 4 (rope_theta, rope_scaling,
// rope_local_base_freq) or 5 (rope_parameters, by layer type where the family has two).
#pragma once

#include <nlohmann/json.hpp>

#include "nodes/format/model_family.h"
#include "nodes/format/rope_parameters.h"

namespace rlflow {

struct RopePair {
  RopeParameters full, local;
};

// Where both dialects stand they must agree. Throws FormatError naming the key.
RopePair read_rope(const nlohmann::json& config, const FamilyRow& family, std::int64_t max_positions);

// Sets every key of both dialects; `local` only where the family has sliding layers with a RoPE of their own.
void write_rope(const RopePair& rope, const FamilyRow& family, nlohmann::json& config);

}  // namespace rlflow
