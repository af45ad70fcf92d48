// What a program means: ids instead of names, values instead of expressions, a type for every output.
// Pictures are drawn from it, also where the program has errors (then parts are missing or unknown).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/attributes.h"
#include "runtime/contract/ids.h"
#include "runtime/contract/plan.h"
#include "runtime/contract/signature.h"
#include "runtime/contract/span.h"

namespace rlflow {

using ParamId = Id<struct ParamTag>;
using DimId = Id<struct DimTag>;
using BlockId = Id<struct BlockTag>;

// Who gave a value.
enum class Origin { fallback, source, overrides_file, command_line };

struct Setting {
  Value value;
  Origin origin = Origin::fallback;
  Span span;        // name and value as written; invalid for a fallback
  Span value_span;  // the value alone
  // Of a call: those of its arguments that are not defaults, and who gave each.
  std::map<std::string, Origin> arguments = {};
};
using Settings = std::map<std::string, Setting>;  // defaults filled in

enum class ParamType { integer, real, boolean, string, path, word, duration, tokens, seqs, bytes };

struct Param {
  std::string name;  // its address: "steps", "gsm.prompts"
  ParamType type = ParamType::integer;
  Value value;                   // null where it could not be found
  Value declared;                // the value in the source
  std::optional<double> lo, hi;  // `in lo..hi`, both ends included
  std::vector<Value> choices;    // `in {a, b}`
  std::string doc;
  Origin origin = Origin::source;
  Span value_span;  // where the value stands
  bool used = false;
  Span span;
  Span name_span;
};

struct Group {
  std::string name;
  DeviceKind device = DeviceKind::cpu;
  std::int32_t first = 0;  // devices [first, last)
  std::int32_t last = 1;
  std::int32_t threads = 1;
  std::int32_t tp = 1;
  std::int32_t dp = 1;
  Settings settings;
  bool known = true;  // false: its devices could not be read
  bool used = false;
  Span span;
  Span name_span;
  Span devices_span;
};

struct Model {
  std::string name;
  std::string loader;  // "load" or "init"; of a base those of the model whose base it is, and so the next two
  std::string path;
  std::int64_t init_seed = 0;
  ModelId base_of;  // set: the weights that this model's adapters are added to
  GroupId group;
  bool trainable = false;
  Dtype dtype = Dtype::f32;
  Head head = Head::lm;
  Settings settings;
  bool known = true;  // false: something in its declaration is wrong, so checks about it are off
  bool used = false;
  Span span;
  Span name_span;
  Span path_span;
};

struct Replica {
  std::string name;
  ModelId model;
  GroupId group;
  Dtype dtype = Dtype::f32;
  Settings settings;
  bool known = true;
  bool used = false;
  Span span;
  Span name_span;
};

// A data set or a reward function.
struct Source {
  std::string name;
  std::string source;                          // "builtin", "jsonl", "exec"
  std::string argument;                        // name of the builtin, path, command
  const SourceSignature* signature = nullptr;  // in the catalog; null where unknown
  Settings settings;
  bool known = true;  // false: something in its declaration is wrong, so checks about it are off
  bool used = false;
  Span span;
  Span name_span;
  Span argument_span;
};

struct Sync {
  ModelId model;
  ReplicaId replica;
  std::int64_t every = 1;
  std::int64_t lag = 0;
  bool lag_at_most = false;
  Settings settings;
  Span span;
  Span lag_span;
};

// `every n steps [and at start] { … }`
struct ScheduleBlock {
  std::int64_t every = 1;
  bool at_start = false;
  Span span;  // its head
};

// One origin of a dimension. Equal ids mean equal dimensions; names are for people.
struct Dim {
  std::string name;  // as annotated, else the signature's letter
  NodeId maker;
  std::optional<std::int64_t> size;  // where the program fixes it
  bool annotated = false;
  bool disputed = false;  // another has its name, and that was reported
};

struct NodeOutput {
  std::string name;  // empty: not named by the program
  Kind kind = Kind::metrics;
  std::vector<DimId> dims;
  bool known = true;     // false: the type "error"
  bool carried = false;  // a take node's cursor
  std::int32_t readers = 0;
  Span span;
};

struct NodeInput {
  enum class From { absent, edge, previous_step, declaration, constant, unknown };
  From from = From::absent;
  std::int32_t argument = 0;  // index into the signature's arguments
  NodeId node;                // edge, previous_step
  std::int32_t port = 0;
  double init = 0;     // previous_step
  std::string metric;  // edge, previous_step: this number of a metrics output; empty: the whole output
  Span span;
};

// One node statement. (`Node` is its code, in runtime/contract/node.h.)
struct FlowNode {
  std::string name;  // unique; its first output, else "checkpoint(policy)"
  std::string op;
  const NodeSignature* signature = nullptr;  // in the catalog; null where it could not be chosen
  std::vector<NodeInput> inputs;             // one per argument, in order; variadic ones follow
  std::vector<NodeOutput> outputs;
  ModelId model;  // read or updated; a replica's model where `replica` is set
  ReplicaId replica;
  DataId data;
  RewardId reward;
  std::vector<ModelId> models;
  Attributes constants;
  Settings settings;     // common ones included: retry, timeout, on_failure, from
  GroupId on;            // as written
  BlockId block;         // inside an `every` block
  bool removed = false;  // `when` was false
  bool known = true;     // false: some of it could not be resolved; checks about it are off
  Span span;
  Span op_span;        // the call
  Span callee_span;    // the op's name
  Span close_span;     // the call's closing parenthesis
  Span settings_span;  // braces included; invalid without a block
  Span when_span;
};

struct Pipeline {
  std::string flow;  // empty: a library
  std::string root;  // absolute
  std::vector<Param> params;
  std::vector<Group> groups;
  std::vector<Model> models;
  std::vector<Replica> replicas;
  std::vector<Source> data;
  std::vector<Source> rewards;
  std::vector<Sync> syncs;
  std::vector<ScheduleBlock> blocks;
  std::vector<Dim> dims;
  std::vector<FlowNode> nodes;  // in the order written; edges of a step go forward
  std::optional<std::int64_t> stop_after;
  bool has_broken_sync = false;  // one names no replica: which are not synced is unknown
  Span flow_span;                // the flow's name
  Span stop_span;
  Span stop_value_span;  // where its number stands

  const FlowNode& node(NodeId id) const { return nodes[id.index()]; }
  const Sync* sync_of(ReplicaId id) const;           // null if there is none
  PortType type_of(const NodeOutput& output) const;  // with the dimensions' names
};

// Whether an output of this kind holds token ids, which mean something to one tokenizer alone.
bool carries_tokens(Kind kind);

// What overrides call it: its first output's name, else its op.
std::string override_address(const FlowNode& node);

// The setting's value, or null where it has none.
const Value* setting(const Settings& settings, const std::string& name);

}  // namespace rlflow
