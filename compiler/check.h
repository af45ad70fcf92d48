// Every rule that a resolved and typed pipeline must keep. One function a rule or a few of one theme.
#pragma once

#include <set>
#include <string>

#include "compiler/compile.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "compiler/source.h"
#include "runtime/contract/signature.h"

namespace rlflow {

struct CheckInput {
  const Pipeline& pipeline;
  const Catalog& catalog;
  const SourceMap& sources;
  CompileMode mode;
  bool broken;  // a file has syntax errors: nothing is said about what may stand in the unread part
};

// All of them, in the order below.
void check(const CheckInput& input, Diagnostics& diagnostics);

void check_flow(const CheckInput& input, Diagnostics& diagnostics);       // a flow, its end, what `every` may hold
void check_versions(const CheckInput& input, Diagnostics& diagnostics);   // writers, sync, staleness, `from`
void check_sampling(const CheckInput& input, Diagnostics& diagnostics);   // temperature, truncation
void check_kl(const CheckInput& input, Diagnostics& diagnostics);         // a KL weight if and only if a reference
void check_demands(const CheckInput& input, Diagnostics& diagnostics);    // what losses and estimators ask of inputs
void check_objective(const CheckInput& input, Diagnostics& diagnostics);  // settings, weights, baselines
void check_rows(const CheckInput& input, Diagnostics& diagnostics);       // rows of the kind taken; an end where needed
void check_batches(const CheckInput& input, Diagnostics& diagnostics);    // minibatch, micro, budget
void check_files(const CheckInput& input, Diagnostics& diagnostics);      // models, data and programs are there
void check_refill(const CheckInput& input, Diagnostics& diagnostics);     // what a filter samples again
void check_adapters(const CheckInput& input, Diagnostics& diagnostics);   // their rank against the model's layers
void check_tokenizers(const CheckInput& input, Diagnostics& diagnostics);  // equal where models share tokens
void check_executable(const CheckInput& input, Diagnostics& diagnostics);  // for a run: what this version executes
void check_unused(const CheckInput& input, Diagnostics& diagnostics);      // lints; only where there are no errors

// The nodes whose outputs of the same step this node depends on, itself not included.
std::set<NodeId> ancestors(const Pipeline& pipeline, NodeId id);
// Whether the node runs: known, and not taken away by `when`.
bool is_live(const FlowNode& node);
// Models, replicas, data and rewards that live nodes use; the others are not loaded.
struct Usage {
  std::set<ModelId> models;
  std::set<ReplicaId> replicas;
  std::set<DataId> data;
  std::set<RewardId> rewards;
  std::set<GroupId> groups;
};
Usage usage_of(const Pipeline& pipeline);
// The node's input of this name, given or absent; null where its signature has none.
const NodeInput* input_named(const FlowNode& node, const char* name);
// Where a setting that stands in no block yet would be put: the edit that adds "name = value".
Edit add_setting(const FlowNode& node, const std::string& text, const SourceMap& sources);

}  // namespace rlflow
