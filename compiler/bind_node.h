// One node statement: its signature is chosen, its arguments, settings and output types are found.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/evaluate.h"
#include "compiler/overrides.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// An argument as written, its name looked up.
struct Given {
  enum class What { edge, previous_step, model, replica, data, reward, expression, unknown, broken };
  What what = What::broken;
  const ast::Argument* source = nullptr;
  NodeId node;  // edge, previous_step
  std::int32_t port = 0;
  std::string metric;       // of a metrics output, `step.kl`; empty: the whole output
  std::int32_t index = -1;  // model, replica, data, reward
  double init = 0;          // previous_step
  Span span;                // the value
};

// For each given argument the index of the signature's argument that takes it; -1: none.
std::vector<int> match_arguments(const NodeSignature& signature, const std::vector<Given>& given);

// Whether an input of this kind may stand in the argument's place; true for what is not known.
bool role_takes(const ArgumentSpec& spec, const Given& given, const Pipeline& pipeline);

// The signature of this op that fits best; null where no node is called so.
const NodeSignature* choose_signature(const Catalog& catalog, const ast::NodeStmt& statement,
                                      const std::vector<Given>& given, const Pipeline& pipeline);

// What the binder works with; all of it outlives the call.
struct BindContext {
  const Catalog& catalog;
  const SourceMap& sources;
  Overrides& overrides;
  Pipeline& pipeline;
  Evaluator& evaluator;
  Diagnostics& diagnostics;
};

// Fills pipeline.nodes[id]; nodes before it are complete.
void bind_node(const ast::NodeStmt& statement, NodeId id, const std::vector<Given>& given, const BindContext& context);

// Gives the node's outputs their kinds and dimensions, and checks annotations against them.
void type_outputs(const ast::NodeStmt& statement, NodeId id, const std::map<std::string, DimId>& letters,
                  Pipeline& pipeline, const SourceMap& sources, Diagnostics& diagnostics);

// Words for kinds: "a reward", "log-probabilities"; "reward f32[B], one number per response".
std::string noun_of(Kind kind);
std::string type_words(const Pipeline& pipeline, const NodeOutput& output);
std::string type_words(const ArgumentSpec& spec);
// The kinds an input takes: "a reward", "a trajectory or a reward".
std::string wanted_words(const ArgumentSpec& spec);

}  // namespace rlflow
