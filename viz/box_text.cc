// Which words stand in the boxes of a picture? Short ones: a box is read at a glance.
#include "viz/box_text.h"

#include <algorithm>

namespace rlflow {
namespace {

constexpr std::size_t kMostKnobs = 5;
constexpr std::size_t kLongestValue = 32;

// Cut at the start of a code point.
std::string shortened(const std::string& text) {
  if (text.size() <= kLongestValue) return text;
  std::size_t end = kLongestValue - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string steps_text(std::int64_t count) { return std::to_string(count) + (count == 1 ? " step" : " steps"); }

template <class Id, class T>
void add_name(std::vector<std::string>& names, Id id, const std::vector<T>& list) {
  if (id.valid() && id.index() < list.size()) names.push_back(list[id.index()].name);
}

std::vector<std::string> declaration_names(const Pipeline& pipeline, const FlowNode& node) {
  std::vector<std::string> names;
  if (node.replica.valid())
    add_name(names, node.replica, pipeline.replicas);
  else
    add_name(names, node.model, pipeline.models);
  for (ModelId model : node.models) {
    if (model != node.model) add_name(names, model, pipeline.models);
  }
  add_name(names, node.data, pipeline.data);
  add_name(names, node.reward, pipeline.rewards);
  return names;
}

// A constant is written by position where the signature allows it.
std::string constant_text(const FlowNode& node, const std::string& name, const Value& value) {
  const bool named =
      node.signature != nullptr &&
      std::any_of(node.signature->arguments.begin(), node.signature->arguments.end(),
                  [&](const ArgumentSpec& argument) { return argument.name == name && argument.named_only; });
  return (named ? name + "=" : "") + to_text(value);
}

// Settings that change what a node means, in the order of its signature; of an unknown node all there are.
std::vector<std::string> knob_names(const FlowNode& node) {
  std::vector<std::string> names;
  if (node.signature != nullptr) {
    for (const SettingSpec& spec : node.signature->settings) {
      if (spec.in_meaning) names.push_back(spec.name);
    }
    names.emplace_back("from");
  } else {
    for (const auto& [name, setting] : node.settings) names.push_back(name);
  }
  return names;
}

// "adamw, lr = 0.00015": the rate, or the schedule that makes it.
std::string optimizer_text(const Value& optimizer) {
  const CallValue* call = optimizer.get<CallValue>();
  if (call == nullptr) return to_text(optimizer);
  const auto rate = call->named.find("lr");
  if (rate == call->named.end()) return call->name;
  const CallValue* schedule = rate->second.get<CallValue>();
  return call->name + ", lr = " + (schedule != nullptr ? schedule->name + "(…)" : to_text(rate->second));
}

}  // namespace

std::string call_text(const Pipeline& pipeline, const FlowNode& node) {
  std::vector<std::string> arguments = declaration_names(pipeline, node);
  for (const auto& [name, value] : node.constants) arguments.push_back(constant_text(node, name, value));
  std::string text = node.op;
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "(" : ", ") + arguments[i];
  return arguments.empty() ? text : text + ")";
}

std::vector<std::string> knob_texts(const FlowNode& node) {
  std::vector<std::string> lines;
  for (const std::string& name : knob_names(node)) {
    const auto found = node.settings.find(name);
    if (found == node.settings.end()) continue;
    const Setting& setting = found->second;
    if (setting.origin == Origin::fallback || setting.value.is_null()) continue;
    const bool* truth = setting.value.get<bool>();
    const bool bare = truth != nullptr && *truth;
    lines.push_back(bare ? name : name + " = " + shortened(to_text(setting.value)));
  }
  if (lines.size() > kMostKnobs) {
    const std::size_t hidden = lines.size() - (kMostKnobs - 1);
    lines.resize(kMostKnobs - 1);
    lines.push_back("… " + std::to_string(hidden) + " more");
  }
  return lines;
}

std::string schedule_text(const Pipeline& pipeline, const FlowNode& node) {
  if (!node.block.valid() || node.block.index() >= pipeline.blocks.size()) return {};
  const ScheduleBlock& block = pipeline.blocks[node.block.index()];
  return "every " + steps_text(block.every) + (block.at_start ? ", at start" : "");
}

std::string loader_text(const Model& model) {
  if (model.base_of.valid()) return "base_of";
  return model.path.empty() ? model.loader : model.loader + "(" + shortened(model.path) + ")";
}

std::vector<std::string> model_texts(const Model& model) {
  std::string facts = std::string(dtype_name(model.dtype)) + (model.trainable ? ", trained" : ", frozen");
  switch (model.head) {
    case Head::lm: break;
    case Head::value: facts += ", value head"; break;
    case Head::reward: facts += ", reward head"; break;
  }
  std::vector<std::string> lines = {facts};
  if (const Value* lora = setting(model.settings, "lora"); lora != nullptr && lora->get<CallValue>() != nullptr) {
    const Attributes& given = lora->get<CallValue>()->named;
    if (has(given, "rank")) lines.push_back("LoRA, rank " + std::to_string(int_at(given, "rank")));
  }
  const Value* optimizer = setting(model.settings, "optim");
  if (model.trainable && optimizer != nullptr) lines.push_back(optimizer_text(*optimizer));
  return lines;
}

std::string devices_text(const Group& group) {
  if (!group.known) return "?";
  if (group.device == DeviceKind::cpu) {
    return "cpu, " + std::to_string(group.threads) + (group.threads == 1 ? " thread" : " threads");
  }
  std::string text = "gpu " + std::to_string(group.first);
  if (group.last - group.first > 1) text += "–" + std::to_string(group.last - 1);
  if (group.tp > 1) text += ", tp = " + std::to_string(group.tp);
  if (group.dp > 1) text += ", dp = " + std::to_string(group.dp);
  return text;
}

std::string sync_text(const Sync& sync) {
  return "every " + steps_text(sync.every) + ", lag " + (sync.lag_at_most ? "≤ " : "") + std::to_string(sync.lag);
}

}  // namespace rlflow
