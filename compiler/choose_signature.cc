// Where an op has several signatures, the arguments choose: their kinds, the model's head, their names, words.
#include <algorithm>
#include <climits>

#include "compiler/bind_node.h"
#include "compiler/metric_inputs.h"

namespace rlflow {
namespace {

const char* head_name(Head head) {
  switch (head) {
    case Head::lm: return "lm";
    case Head::value: return "value";
    case Head::reward: return "reward";
  }
  return "";
}

bool head_fits(const ArgumentSpec& spec, const Given& given, const Pipeline& pipeline) {
  if (spec.heads.empty() || given.what != Given::What::model) return true;
  const char* head = head_name(pipeline.models[static_cast<std::size_t>(given.index)].head);
  return std::find(spec.heads.begin(), spec.heads.end(), head) != spec.heads.end();
}

int misfit_of_words(const NodeSignature& signature, const ast::NodeStmt& statement) {
  int misfit = 0;
  if (!statement.settings) return 0;
  for (const ast::Setting& setting : statement.settings->list) {
    const auto* word = setting.value ? std::get_if<ast::Reference>(&setting.value->data) : nullptr;
    if (word == nullptr) continue;
    for (const SettingSpec& spec : signature.settings) {
      bool here = spec.name == setting.name.text && spec.type == SettingType::word;
      if (here && std::find(spec.words.begin(), spec.words.end(), word->name.text) == spec.words.end()) misfit += 3;
    }
  }
  return misfit;
}

// 0: everything fits. The kind of an input weighs most, then the model's head, then words, names, and
// what is missing.
int misfit_of(const NodeSignature& signature, const ast::NodeStmt& statement, const std::vector<Given>& given,
              const Pipeline& pipeline) {
  int misfit = misfit_of_words(signature, statement);
  std::vector<int> targets = match_arguments(signature, given);
  std::vector<bool> filled(signature.arguments.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (targets[i] < 0) {
      misfit += 2;
      continue;
    }
    const ArgumentSpec& spec = signature.arguments[static_cast<std::size_t>(targets[i])];
    filled[static_cast<std::size_t>(targets[i])] = true;
    if (!role_takes(spec, given[i], pipeline)) misfit += 8;
    if (!head_fits(spec, given[i], pipeline)) misfit += 6;
  }
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const ArgumentSpec& spec = signature.arguments[i];
    if (!filled[i] && !spec.optional && !spec.fallback) misfit += 1;
  }
  return misfit;
}

}  // namespace

bool role_takes(const ArgumentSpec& spec, const Given& given, const Pipeline& pipeline) {
  switch (given.what) {
    case Given::What::edge: {
      if (spec.role != ArgumentRole::edge) return false;
      const std::vector<NodeOutput>& outputs = pipeline.node(given.node).outputs;
      const NodeOutput& output = outputs[static_cast<std::size_t>(given.port)];
      return !output.known ||
             std::find(spec.kinds.begin(), spec.kinds.end(), kind_of(output, given.metric)) != spec.kinds.end();
    }
    case Given::What::previous_step:
      return spec.role == ArgumentRole::edge &&
             std::find(spec.kinds.begin(), spec.kinds.end(), Kind::scalar) != spec.kinds.end();
    case Given::What::model: return spec.role == ArgumentRole::model || spec.role == ArgumentRole::trainable;
    case Given::What::replica: return spec.role == ArgumentRole::replica;
    case Given::What::data: return spec.role == ArgumentRole::data;
    case Given::What::reward: return spec.role == ArgumentRole::reward;
    case Given::What::expression: return spec.role == ArgumentRole::constant;
    case Given::What::unknown:
    case Given::What::broken: return true;
  }
  return true;
}

std::vector<int> match_arguments(const NodeSignature& signature, const std::vector<Given>& given) {
  std::vector<int> targets(given.size(), -1);
  std::size_t next = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].source->name) {
      for (std::size_t a = 0; a < signature.arguments.size(); ++a) {
        if (signature.arguments[a].name == given[i].source->name->text) targets[i] = static_cast<int>(a);
      }
      continue;
    }
    while (next < signature.arguments.size() && signature.arguments[next].named_only) ++next;
    if (next >= signature.arguments.size()) continue;
    targets[i] = static_cast<int>(next);
    if (!signature.arguments[next].variadic) ++next;
  }
  return targets;
}

const NodeSignature* choose_signature(const Catalog& catalog, const ast::NodeStmt& statement,
                                      const std::vector<Given>& given, const Pipeline& pipeline) {
  const NodeSignature* best = nullptr;
  int least = INT_MAX;
  for (const NodeSignature& signature : catalog.nodes) {
    if (signature.op != statement.call.callee.text) continue;
    int misfit = misfit_of(signature, statement, given, pipeline);
    if (misfit >= least) continue;
    least = misfit;
    best = &signature;
  }
  return best;
}

}  // namespace rlflow
