// By what is a task known again? The digest of everything that its result depends on.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "runtime/contract/plan.h"
#include "runtime/engine/step_graph.h"
#include "runtime/store/record_queries.h"

namespace rlflow {

// Node, op version, settings, inputs, state of the model, step, slot, seed, dtype, layout. Not in it: program text,
// names of params, device numbers, retries, timeouts, time. Inputs come by the recorded outputs of `edges`;
// `inits` are the digests of inputs that `prev(…, init=…)` made, by port.
Digest task_key(Database& database, const Plan& plan, const StepGraph& graph, std::uint64_t seed, TaskId task,
                std::span<const Edge> edges, const std::map<std::int32_t, Digest>& inits);

// Stands for parameters, moments and counters of a version without reading them: version 0 by its weights and its
// optimizer's settings, version k by the key of its update (which holds the lineage of k-1) and its weights.
Digest first_lineage(const PlanModel& model, const WeightsDigest& weights);
Digest next_lineage(const Digest& update_key, const WeightsDigest& weights);

}  // namespace rlflow
