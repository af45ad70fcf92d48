// How much flows in a step: sequences and tokens at each node, bytes on each edge and each sync.
//
// Bounds are what the program allows: prompts of max_prompt tokens (of the `addition` generator: 2 x digits + 3) and
// responses of max_new. Where the data names no bound, it is what the model's positions leave. Nominal is half of
// the bound, since responses mostly end before max_new; it is an assumption, not a measurement.
// Bytes are those of the payloads (nodes/batches.h) without their texts: a token 4, its log-probability 4, its mask 1;
// a row of prompts or examples 16, a response 13.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodes/format/model_config.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// One a model of the plan; empty where its folder is missing or its config.json cannot be counted, with the reason.
struct ModelFacts {
  std::optional<ModelConfig> shape;
  std::string unknown_because;
};
std::vector<ModelFacts> read_model_facts(const Plan& plan);

struct NodeSize {
  std::optional<std::int64_t> rows;      // sequences at the node, over all ranks
  std::int64_t samples = 1;              // of them that share a prompt
  std::optional<std::int64_t> prompt;    // most tokens of a prompt
  std::optional<std::int64_t> response;  // most tokens of a response; of examples: of a whole row
  std::int64_t ranks = 1;                // dp of the group that it runs on

  std::optional<std::int64_t> longest() const;  // tokens of one sequence
};

struct Bytes {
  std::optional<double> nominal, most;
};

struct EdgeSize {
  NodeId from;
  std::int32_t port = 0;
  std::vector<NodeId> readers;
  Bytes bytes;
  bool between_groups = false;  // a reader computes on another group
};

struct SyncSize {
  ReplicaId replica;
  std::optional<double> bytes;  // to one device set that holds the weights once; 0 in place
};

struct PlanSizes {
  std::vector<NodeSize> nodes;  // one a node
  std::vector<EdgeSize> edges;
  std::vector<SyncSize> syncs;
  std::int64_t steps_in_flight = 1;  // the largest lag + 1
};
PlanSizes sizes_of(const Plan& plan, const std::vector<ModelFacts>& models);

std::int64_t parameters_of(const ModelConfig& shape, Head head);
// What an update moves: all parameters, or the adapters of `lora`: rank x (inputs + outputs) for each target.
std::int64_t trained_parameters(const PlanModel& model, const ModelConfig& shape);
// Entries of the matrices that have adapters, as the passes read them: query, key and value are one, and so are gate
// and up. 0 without adapters.
std::int64_t adapted_matrices(const PlanModel& model, const ModelConfig& shape);
constexpr std::int64_t bytes_of(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 2; }

}  // namespace rlflow
