// Lists params, devices, settings, arguments of calls and shape constants.
#include "cli/adjustable.h"

#include <utility>

#include "compiler/params.h"

namespace rlflow {
namespace {

const char* type_name(SettingType type) {
  switch (type) {
    case SettingType::boolean: return "bool";
    case SettingType::integer: return "int";
    case SettingType::real: return "float";
    case SettingType::word: return "word";
    case SettingType::word_list: return "list of words";
    case SettingType::text: return "string";
    case SettingType::texts: return "string or list";
    case SettingType::duration: return "duration";
    case SettingType::tokens: return "tokens";
    case SettingType::seqs: return "seqs";
    case SettingType::bytes: return "bytes";
    case SettingType::int_range: return "range";
    case SettingType::real_list: return "list";
    case SettingType::word_or_real: return "word or float";
    case SettingType::call: return "call";
    case SettingType::real_or_call: return "float or call";
  }
  return "";
}

Adjustable from_spec(const std::string& address, const SettingSpec& spec) {
  Adjustable entry;
  entry.address = address;
  entry.type = type_name(spec.type);
  entry.lo = spec.lo;
  entry.hi = spec.hi;
  entry.lo_open = spec.lo_open;
  entry.choices = spec.words;
  for (const CallSpec& call : spec.calls) entry.choices.push_back(call.name + "(…)");
  entry.doc = spec.doc;
  return entry;
}

std::optional<std::string> value_text(const Value& value) {
  return value.is_null() ? std::nullopt : std::optional(to_text(value));
}

class Collector {
 public:
  Collector(const Analysis& analysis, const Catalog& catalog) : analysis_(analysis), catalog_(catalog) {}

  std::vector<Adjustable> run() {
    const Pipeline& pipeline = analysis_.pipeline;
    for (const Param& param : pipeline.params) add_param(param);
    for (const Group& group : pipeline.groups) add_group(group);
    for (const Model& model : pipeline.models) add_settings(model.name, catalog_.model_settings, model.settings);
    for (const Replica& replica : pipeline.replicas) {
      add_settings(replica.name, catalog_.replica_settings, replica.settings);
    }
    for (const std::vector<Source>* sources : {&pipeline.data, &pipeline.rewards}) {
      for (const Source& source : *sources) {
        if (source.signature != nullptr) add_settings(source.name, source.signature->settings, source.settings);
      }
    }
    for (const FlowNode& node : pipeline.nodes) add_node(node);
    for (const Sync& sync : pipeline.syncs) {
      add_settings("sync." + pipeline.replicas[sync.replica.index()].name, catalog_.sync_settings, sync.settings);
    }
    add_stop();
    return std::move(list_);
  }

 private:
  // Who gave a value is told by the file in which it stands.
  Origin origin_of(Span place) const {
    if (!place.valid()) return Origin::fallback;
    if (analysis_.sources.is_command_line(place.file)) return Origin::command_line;
    return place.file.index() < analysis_.files.size() ? Origin::source : Origin::overrides_file;
  }

  void add(Adjustable entry, std::optional<std::string> value, Span place) {
    entry.value = std::move(value);
    entry.place = place;
    entry.origin = origin_of(place);
    list_.push_back(std::move(entry));
  }

  void add_param(const Param& param) {
    Adjustable entry;
    entry.address = param.name;
    entry.type = param_type_name(param.type);
    entry.lo = param.lo;
    entry.hi = param.hi;
    for (const Value& choice : param.choices) entry.choices.push_back(to_text(choice));
    entry.doc = param.doc;
    add(std::move(entry), value_text(param.value), param.value_span);
  }

  void add_group(const Group& group) {
    Adjustable entry;
    entry.address = group.name;
    entry.type = "devices";
    entry.doc = "the devices of the group";
    std::string gpus = "gpu[" + std::to_string(group.first) + ".." + std::to_string(group.last) + "]";
    add(std::move(entry), group.device == DeviceKind::cpu ? "cpu" : gpus, group.devices_span);
    add_settings(group.name, catalog_.group_settings, group.settings);
  }

  void add_node(const FlowNode& node) {
    if (node.signature == nullptr) return;
    const std::string address = override_address(node);
    for (std::size_t a = 0; a < node.signature->arguments.size() && a < node.inputs.size(); ++a) {
      const ArgumentSpec& argument = node.signature->arguments[a];
      auto value = node.constants.find(argument.name);
      if (argument.role != ArgumentRole::constant || value == node.constants.end()) continue;
      Adjustable entry;
      entry.address = address + "." + argument.name;
      entry.type = "int";
      entry.lo = argument.lo;
      entry.hi = argument.hi;
      entry.doc = argument.doc;
      add(std::move(entry), to_text(value->second), node.inputs[a].span);
    }
    add_settings(address, node.signature->settings, node.settings);
    add_settings(address, catalog_.common, node.settings);
  }

  void add_settings(const std::string& owner, const std::vector<SettingSpec>& specs, const Settings& settings) {
    for (const SettingSpec& spec : specs) {
      const auto found = settings.find(spec.name);
      const Setting none;
      const Setting& setting = found == settings.end() ? none : found->second;
      add(from_spec(owner + "." + spec.name, spec), value_text(setting.value), setting.span);
      if (const CallValue* call = setting.value.get<CallValue>()) add_arguments(owner, spec, *call, setting);
    }
  }

  // `policy.optim.lr`: one argument of the call that the setting holds.
  void add_arguments(const std::string& owner, const SettingSpec& spec, const CallValue& call, const Setting& setting) {
    for (const CallSpec& known : spec.calls) {
      if (known.name != call.name) continue;
      for (const SettingSpec& argument : known.arguments) {
        const auto value = call.named.find(argument.name);
        add(from_spec(owner + "." + spec.name + "." + argument.name, argument),
            value == call.named.end() ? std::nullopt : value_text(value->second), setting.span);
        const auto origin = setting.arguments.find(argument.name);
        list_.back().origin = origin == setting.arguments.end() ? Origin::fallback : origin->second;
        if (list_.back().origin != origin_of(setting.span)) list_.back().place = {};
      }
    }
  }

  void add_stop() {
    const Pipeline& pipeline = analysis_.pipeline;
    if (!pipeline.stop_after) return;
    Adjustable entry;
    entry.address = "stop";
    entry.type = "int";
    entry.lo = 1;
    entry.doc = "the last step";
    add(std::move(entry), std::to_string(*pipeline.stop_after), pipeline.stop_value_span);
  }

  const Analysis& analysis_;
  const Catalog& catalog_;
  std::vector<Adjustable> list_;
};

}  // namespace

std::vector<Adjustable> adjustables(const Analysis& analysis, const Catalog& catalog) {
  return Collector(analysis, catalog).run();
}

}  // namespace rlflow
