// Do the parts of what is optimised fit together: settings and the words that give them an effect, weights and rewards,
// a baseline and the rollout it comes from?
#include <algorithm>
#include <optional>
#include <string>

#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

const std::string* word_of(const Settings& settings, const std::string& name) {
  const Value* value = setting(settings, name);
  const Word* word = value ? value->get<Word>() : nullptr;
  return word ? &word->name : nullptr;
}

// A setting that was given although the word of another one takes its effect away.
void check_effect(const Settings& settings, const SettingSpec& spec, Span owner, Diagnostics& diagnostics) {
  auto given = settings.find(spec.name);
  const std::string* word = spec.with_setting.empty() ? nullptr : word_of(settings, spec.with_setting);
  const bool absent = spec.with_words.empty() && !spec.with_setting.empty() && !settings.contains(spec.with_setting);
  if ((word == nullptr && !absent) || given == settings.end() || given->second.origin == Origin::fallback) return;
  // `rlflow params` lists the default of every setting, and to give it from outside changes nothing.
  if (given->second.origin != Origin::source && spec.fallback && *spec.fallback == given->second.value) return;
  if (word == nullptr) {
    diagnostics
        .error("E0322", given->second.span, "`" + spec.name + "` has no effect without `" + spec.with_setting + "`")
        .note("`" + spec.name + "`: " + spec.doc)
        .help("give `" + spec.with_setting + "`, or take `" + spec.name + "` away");
    return;
  }
  if (std::find(spec.with_words.begin(), spec.with_words.end(), *word) != spec.with_words.end()) return;
  Diagnostic& message =
      diagnostics.error("E0322", given->second.span,
                        "`" + spec.name + "` has no effect with `" + spec.with_setting + " = " + *word + "`");
  const Setting& other = settings.at(spec.with_setting);
  message.at(other.span.valid() ? other.span : owner, "does without it");
  message.note("`" + spec.name + "`: " + spec.doc + "; it belongs to " + quoted_list(spec.with_words));
  message.help("take `" + spec.name + "` away");
}

// `weights` has one number for each of the rewards.
void check_weights(const FlowNode& node, Diagnostics& diagnostics) {
  const Value* value = setting(node.settings, "weights");
  const List* weights = value ? value->get<List>() : nullptr;
  if (weights == nullptr) return;
  std::size_t rewards = 0;
  for (const NodeInput& input : node.inputs) rewards += input.from == NodeInput::From::edge ? 1 : 0;
  if (rewards == weights->size()) return;
  diagnostics
      .error("E0324", node.settings.at("weights").span,
             "`" + node.op + "` has " + counted(static_cast<std::int64_t>(rewards), "reward") + " and " +
                 counted(static_cast<std::int64_t>(weights->size()), "weight"))
      .at(node.op_span, counted(static_cast<std::int64_t>(rewards), "reward"))
      .help("give one weight a reward, in the order of the inputs");
}

// The rollout whose responses these rewards judge.
const FlowNode* rollout_of(const Pipeline& pipeline, const NodeInput& rewards) {
  std::set<NodeId> makers = ancestors(pipeline, rewards.node);
  makers.insert(rewards.node);
  for (NodeId id : makers) {
    const FlowNode& node = pipeline.node(id);
    if (is_live(node) && node.replica.valid() && node.constants.count("n") > 0) return &node;
  }
  return nullptr;
}

std::optional<double> temperature_of(const FlowNode& rollout) {
  const Value* value = setting(rollout.settings, "temperature");
  const double* real = value ? value->get<double>() : nullptr;
  return real ? std::optional(*real) : std::nullopt;
}

// An input that stands for one greedy response to each prompt.
void check_greedy(const CheckInput& input, const FlowNode& node, const NodeInput& baseline, Diagnostics& diagnostics) {
  const ArgumentSpec& spec = node.signature->arguments[static_cast<std::size_t>(baseline.argument)];
  if (!spec.greedy || baseline.from != NodeInput::From::edge) return;
  const FlowNode* rollout = rollout_of(input.pipeline, baseline);
  if (rollout == nullptr) return;
  const bool greedy = temperature_of(*rollout) == 0.0;
  const std::int64_t n = int_at(rollout->constants, "n");
  if (greedy && n == 1) return;
  Diagnostic& message = diagnostics.error(
      "E0325", baseline.span, "`" + spec.name + "` needs the rewards of one greedy response to each prompt");
  message.at(rollout->callee_span,
             greedy ? "gives " + std::to_string(n) + " responses to each prompt" : "samples: its temperature is not 0");
  message.help("take the rewards of a rollout of its own, with `n=1` and `temperature = 0`");
}

}  // namespace

void check_objective(const CheckInput& input, Diagnostics& diagnostics) {
  for (const FlowNode& node : input.pipeline.nodes) {
    if (!is_live(node)) continue;
    for (const SettingSpec& spec : node.signature->settings) {
      check_effect(node.settings, spec, node.callee_span, diagnostics);
    }
    check_weights(node, diagnostics);
    for (const NodeInput& argument : node.inputs) check_greedy(input, node, argument, diagnostics);
  }
  for (DataId id : usage_of(input.pipeline).data) {
    const Source& data = input.pipeline.data[id.index()];
    if (data.signature == nullptr) continue;
    for (const SettingSpec& spec : data.signature->settings) {
      check_effect(data.settings, spec, data.argument_span, diagnostics);
    }
  }
}

}  // namespace rlflow
