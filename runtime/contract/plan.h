// The Plan: what the compiler hands to the engine. Plain data; it names no pointer, thread or open file,
// and could be read from a file on another machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/attributes.h"
#include "runtime/contract/digest.h"
#include "runtime/contract/ids.h"
#include "runtime/contract/port_type.h"
#include "runtime/contract/span.h"

namespace rlflow {

enum class DeviceKind { cpu, gpu };
enum class Dtype { f32, bf16 };
enum class Head { lm, value, reward };
enum class OnFailure { pause, drop_group, fail };

constexpr const char* dtype_name(Dtype dtype) { return dtype == Dtype::f32 ? "f32" : "bf16"; }

// One source file, as it was compiled.
struct PlanSource {
  std::string path;  // as the user would write it, relative to the working directory where possible
  std::string text;
};

struct PlanGroup {
  std::string name;
  DeviceKind device = DeviceKind::cpu;
  std::int32_t first = 0;  // device range [first, last); 0, 1 for cpu
  std::int32_t last = 1;
  std::int32_t threads = 1;  // cpu: OpenMP threads of the group's tasks
  std::int32_t tp = 1;
  std::int32_t dp = 1;
  Span span;
};

struct PlanModel {
  std::string name;
  bool random_init = false;  // init(path, seed=…): config.json and tokenizer only, weights drawn
  std::string path;          // folder, as written, relative to Plan::root
  std::uint64_t init_seed = 0;
  ModelId base_of = {};  // set: the weights that this model's adapters are added to, frozen; an earlier model
  GroupId group;
  Dtype dtype = Dtype::f32;
  Head head = Head::lm;
  bool trainable = false;
  std::optional<CallValue>
      optim;  // adamw(lr=…, betas=[…], eps=…, decay=…, clip=…), every argument filled in; set iff trainable
  Attributes settings;  // the remaining settings, defaults filled in
  Span span;
};

// lora(rank=…, alpha=…, targets=[…]) with every argument filled in; null where the model is not trained by adapters.
inline const CallValue* lora_of(const PlanModel& model) {
  return has(model.settings, "lora") ? value_at(model.settings, "lora").get<CallValue>() : nullptr;
}

struct PlanReplica {
  std::string name;
  ModelId model;
  GroupId group;
  Dtype dtype = Dtype::f32;
  // sync model -> replica every `every` steps lag `lag`: step k generates with v(j), j = the largest
  // multiple of `every` with j <= k-1-lag, at least 0.
  std::int64_t every = 1;
  std::int64_t lag = 0;
  bool lag_at_most = false;  // `lag <= L`: the newest available within the window; the choice is recorded
  bool in_place = false;     // shares its model's weights: same group, same dtype, staleness 0
  Span span;
};

struct PlanData {
  std::string name;
  std::string source;    // "builtin" or "jsonl"
  std::string argument;  // name of the generator, or the path
  Attributes settings;   // defaults filled in
  Span span;
};

struct PlanReward {
  std::string name;
  std::string source;  // "builtin" or "exec"
  std::string argument;
  Attributes settings;
  std::vector<std::string> free_settings;  // those that change how a result is made and never the result
  Span span;
};

// Where an argument of a node comes from.
struct PlanInput {
  NodeId node;  // invalid: this argument is not an edge, or absent
  std::int32_t port = 0;
  bool previous_step = false;  // prev(x, init=…): the value of the last step
  double init = 0;             // of prev
  std::string metric = {};     // of an output of kind metrics, this number alone; empty: the whole output
};

struct PlanOutput {
  std::string name;  // empty: the program does not name this output
  PortType type;
};

// When a node of an `every n steps { … }` block runs: after the update of steps k with k % every == 0
// and at the last step; `at_start` also on version 0, as step 0.
struct PlanSchedule {
  std::int64_t every = 1;
  bool at_start = false;
};

struct PlanNode {
  std::string name;  // its first output's name; for a node without outputs op, model and place: "checkpoint(policy)"
  std::string op;    // "rollout", "update", …
  std::string signature;  // which signature of the catalog: "update/policy", "score/function", …
  std::int32_t op_version = 1;
  std::vector<PlanInput> inputs;    // one per argument of the signature, in its order; variadic arguments follow
  std::vector<PlanOutput> outputs;  // one per output of the signature, in its order
  ModelId model;                    // read or updated; a replica's model where `replica` is set
  ReplicaId replica;                // reads the weights of this replica
  DataId data;
  RewardId reward;
  std::vector<ModelId> models;  // checkpoint(policy, critic)
  ModelId tokenizer;            // whose tokenizer turns text into ids and back here; invalid where none is needed
  Attributes constants;         // shape constants: n, count
  Attributes settings;          // defaults filled in; not retry, timeout, on_failure, from
  std::vector<std::string> free_settings;  // those that change how a result is made and never the result
  GroupId group;                           // invalid: a host task without a model
  std::optional<PlanSchedule> schedule;    // set inside an `every` block
  std::int32_t round = 0;                  // of a filter's `refill`; 0: the flow as it is written
  std::int64_t from = 1;                   // skipped before this step
  std::int32_t retry = 0;
  std::int64_t timeout_ms = 0;  // 0: none
  OnFailure on_failure = OnFailure::pause;
  Span span;     // the statement
  Span op_span;  // the call
};

struct Plan {
  std::string flow;                    // the flow's name
  std::string root;                    // absolute project root: paths of models and data are relative to it
  std::vector<PlanSource> sources;     // sources[0] is the program, imports follow
  std::vector<std::string> overrides;  // "address=value", as given
  std::vector<PlanGroup> groups;
  std::vector<PlanModel> models;
  std::vector<PlanReplica> replicas;
  std::vector<PlanData> data;
  std::vector<PlanReward> rewards;
  std::vector<PlanNode> nodes;  // in an order in which every edge of a step goes forward
  std::int64_t stop_after = 0;  // last step
  Digest meaning;               // the semantic hash of language.md section 5
};

// Version that step `step` of a flow generates with on this replica.
constexpr Version replica_version(const PlanReplica& replica, Step step) {
  Version newest = step - 1 - replica.lag;
  if (newest <= 0) return 0;
  return newest / replica.every * replica.every;
}

}  // namespace rlflow
