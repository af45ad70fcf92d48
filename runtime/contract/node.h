// A node kind's code as the engine sees it: payloads and models in, payloads and metrics out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/contract/ids.h"
#include "runtime/contract/metric.h"
#include "runtime/contract/model_instance.h"
#include "runtime/contract/payload.h"

namespace rlflow {

// The update of step k: how many optimizer steps were applied of those planned.
struct UpdateOutcome {
  std::int64_t applied = 0;  // optimizer steps
  std::int64_t planned = 0;
};

struct TaskResult;

struct TaskInputs {
  // One per argument of the node's signature, in signature order; null where the argument is not an edge,
  // or an optional edge that is absent. A variadic argument is last and continues the vector.
  std::vector<PayloadPtr> payloads;
  // The output of this node at its previous step where the signature carries one (a take node's cursor);
  // null at the first.
  PayloadPtr carried;
  // The model or replica the node reads or updates; null for nodes without one.
  ModelInstance* model = nullptr;
  // What this node gave beforehand for single prompt groups of this batch, by group number; null where it was not
  // asked. Empty for a node that does not work by group. Shared: results stay what they were.
  std::vector<std::shared_ptr<const TaskResult>> early;
};

struct TaskResult {
  std::vector<PayloadPtr> outputs;  // one per output of the signature, carried one included
  std::vector<Metric> metrics;
  std::vector<Sample> samples;                   // a few, for display; not stored as results
  std::optional<UpdateOutcome> update;           // set by update nodes alone
  std::map<std::string, std::string> decisions;  // recorded choices that a replay must obey
  std::vector<std::string> warnings;             // what a person should know; a run tells and records each text once
};

// What a running task may use of the world. Valid for the time of the call.
struct TaskContext {
  Step step = 0;
  std::int32_t slot = 0;
  std::int32_t attempt = 1;
  std::uint64_t run_seed = 1;
  // Version of the model read (rollout, logprob, evaluate) or made (update); 0 without a model.
  Version version = 0;
  std::stop_token stop;                          // polled at each decode step or micro-batch; on stop throw TaskStopped
  std::map<std::string, std::string> decisions;  // recorded by an earlier run of this task; empty the first time
  // Progress of a long task in its own unit (tokens, sequences); may be null.
  void (*progress)(void* self, std::int64_t done, std::int64_t total) = nullptr;
  void* progress_self = nullptr;
  // Hands on the outputs for one prompt group before the batch is whole; may be empty. Any thread, one call at a time.
  std::function<void(std::int32_t group, std::vector<PayloadPtr> outputs)> emit;
};

// Thrown by a node that saw its stop token.
struct TaskStopped : std::runtime_error {
  TaskStopped() : std::runtime_error("stopped") {}
};

// Thrown when a result is not finite or a run-time gate is broken: never retried; the run stops, resumable.
struct NumericsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Made once per plan node. `run` may be called from different threads, never two at once for one node object.
// Everything a result depends on is in `inputs`, `context` and the plan node it was made from.
class Node {
 public:
  virtual ~Node() = default;
  virtual TaskResult run(const TaskInputs& inputs, const TaskContext& context) = 0;
  // True: the node itself keeps to `retry` and `timeout`, sample by sample. The engine then sets no deadline for the
  // task and runs it once.
  virtual bool retries_by_sample() const { return false; }
  // True: `run` calls context.emit for each prompt group as soon as it is complete.
  virtual bool emits_groups() const { return false; }
  // True: what it gives for a prompt group depends on the inputs of that group alone. `run` may then be called with the
  // emitted payloads of one group while others are being made, and is called in the end for the whole batch, with these
  // results in inputs.early; its outputs are the same bits with or without them.
  virtual bool works_by_group() const { return false; }
};

}  // namespace rlflow
