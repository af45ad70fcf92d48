// What a word of a setting asks of the inputs of its node: a loss or an estimator says it in its signature.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

// One demand that the program makes: `loss = gspo` asks one advantage a response.
struct Demanded {
  NodeId id;
  const FlowNode& node;
  const SettingSpec& spec;
  const WordDemand& demand;
  const std::string& word;
  const NodeInput& input;

  std::string written() const { return "`" + spec.name + " = " + word + "`"; }
  // Where the word stands, or the call where it is a default.
  Span place() const {
    const Setting& given = node.settings.at(spec.name);
    return given.span.valid() ? given.span : node.callee_span;
  }
};

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Those of the words of a setting that this build executes.
std::vector<std::string> executable_words(const SettingSpec& spec) {
  std::vector<std::string> words;
  for (const std::string& word : spec.words) {
    if (can_execute(spec, Word{word})) words.push_back(word);
  }
  return words;
}

Span place_of_count(const FlowNode& rollout) {
  for (const NodeInput& argument : rollout.inputs) {
    if (argument.from == NodeInput::From::constant && argument.span.valid()) return argument.span;
  }
  return rollout.callee_span;
}

void check_groups(const CheckInput& input, const Demanded& d, Diagnostics& diagnostics) {
  for (NodeId ancestor : ancestors(input.pipeline, d.id)) {
    const FlowNode& rollout = input.pipeline.node(ancestor);
    const bool samples = is_live(rollout) && rollout.replica.valid() && rollout.constants.count("n") > 0;
    if (!samples || int_at(rollout.constants, "n") != 1) continue;
    diagnostics.error("E0305", place_of_count(rollout), "a group of one has no spread: every advantage would be 0")
        .label("n is 1 here")
        .at(d.place(), "compares the responses of one prompt with each other")
        .help("give `" + rollout.op + "` an `n` of 2 or more, or take `estimator = gae` with a critic");
    return;
  }
}

// "`advantage` with `estimator` `grpo` or `rloo`": what makes this node's output one number a response instead.
std::string coarser(const CheckInput& input, const FlowNode& maker, std::size_t port) {
  for (const NodeSignature& other : input.catalog.nodes) {
    if (other.op != maker.op || port >= other.outputs.size() || other.outputs[port].dims.size() > 1) continue;
    for (const SettingSpec& spec : other.settings) {
      const Value* chosen = setting(maker.settings, spec.name);
      if (chosen == nullptr || chosen->get<Word>() == nullptr || holds(spec.words, chosen->get<Word>()->name)) continue;
      std::vector<std::string> words = executable_words(spec);
      if (!words.empty()) return "`" + maker.op + "` with `" + spec.name + "` " + quoted_list(words);
    }
  }
  return "";
}

void check_one_a_response(const CheckInput& input, const Demanded& d, Diagnostics& diagnostics) {
  if (d.input.from != NodeInput::From::edge) return;
  const FlowNode& maker = input.pipeline.node(d.input.node);
  const auto port = static_cast<std::size_t>(d.input.port);
  const NodeOutput& output = maker.outputs[port];
  if (!output.known || output.dims.size() < 2) return;
  std::vector<std::string> others;
  for (const std::string& word : executable_words(d.spec)) {
    if (!holds(d.demand.words, word)) others.push_back(word);
  }
  Diagnostic& message = diagnostics.error(
      "E0323", d.input.span, d.written() + " needs one advantage a response, `" + output.name + "` has one a token");
  message.label("adv[B, T]").at(d.place(), "one ratio a response").at(maker.callee_span, "made here");
  if (std::string better = coarser(input, maker, port); !better.empty()) message.help("take " + better);
  if (!others.empty()) message.help("or take `" + d.spec.name + " = " + others.front() + "`");
}

void check_given(const Demanded& d, Diagnostics& diagnostics) {
  if (d.input.from != NodeInput::From::absent) return;
  const ArgumentSpec& argument = d.node.signature->arguments[static_cast<std::size_t>(d.input.argument)];
  Diagnostic& message = diagnostics.error(
      "E0312", d.place(),
      d.written() + " needs " + d.demand.needed + ", and `" + d.node.op + "` has no `" + argument.name + "`");
  if (d.input.span.valid()) {
    message.at(d.input.span, "taken away by `when`");
  } else {
    message.at(d.node.close_span, "no `" + argument.name + "` input");
  }
  message.help(d.demand.help);
}

void check_setting(const CheckInput& input, NodeId id, const SettingSpec& spec, Diagnostics& diagnostics) {
  const FlowNode& node = input.pipeline.node(id);
  const Value* value = setting(node.settings, spec.name);
  const Word* word = value ? value->get<Word>() : nullptr;
  const CallValue* call = value ? value->get<CallValue>() : nullptr;
  if (word == nullptr && call == nullptr) return;
  const std::string& name = word ? word->name : call->name;
  for (const WordDemand& demand : spec.demands) {
    const NodeInput* asked = input_named(node, demand.input.c_str());
    if (asked == nullptr || !holds(demand.words, name)) continue;
    const Demanded demanded{id, node, spec, demand, name, *asked};
    switch (demand.asks) {
      case WordDemand::Asks::groups: check_groups(input, demanded, diagnostics); break;
      case WordDemand::Asks::one_a_response: check_one_a_response(input, demanded, diagnostics); break;
      case WordDemand::Asks::given: check_given(demanded, diagnostics); break;
    }
  }
}

}  // namespace

void check_demands(const CheckInput& input, Diagnostics& diagnostics) {
  for (std::size_t n = 0; n < input.pipeline.nodes.size(); ++n) {
    if (!is_live(input.pipeline.nodes[n])) continue;
    for (const SettingSpec& spec : input.pipeline.nodes[n].signature->settings) {
      check_setting(input, NodeId(n), spec, diagnostics);
    }
  }
}

}  // namespace rlflow
