// Tables of the catalog as text and JSON.
#include "cli/catalog_text.h"

#include <nlohmann/json.hpp>

#include "cli/table.h"

namespace rlflow {
namespace {

using nlohmann::json;

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::vector<std::string> names_of(const std::vector<CallSpec>& calls) {
  std::vector<std::string> names;
  for (const CallSpec& call : calls) names.push_back(call.name + "(…)");
  return names;
}

std::string bounds_text(const SettingSpec& spec) {
  if (spec.lo && spec.hi) return (spec.lo_open ? "above " : "") + double_text(*spec.lo) + ".." + double_text(*spec.hi);
  if (spec.lo) return (spec.lo_open ? "> " : ">= ") + double_text(*spec.lo);
  return spec.hi ? "<= " + double_text(*spec.hi) : "";
}

std::string with_bounds(const std::string& kind, const SettingSpec& spec) {
  std::string bounds = bounds_text(spec);
  return bounds.empty() ? kind : kind + " " + bounds;
}

const char* role_text(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::edge: return "edge";
    case ArgumentRole::data: return "data";
    case ArgumentRole::replica: return "replica";
    case ArgumentRole::model: return "model";
    case ArgumentRole::trainable: return "trainable model";
    case ArgumentRole::reward: return "reward";
    case ArgumentRole::constant: return "whole number";
  }
  return "";
}

std::string argument_kind(const ArgumentSpec& argument) {
  if (argument.role != ArgumentRole::edge) return role_text(argument.role);
  std::vector<std::string> kinds;
  for (Kind kind : argument.kinds) kinds.push_back(to_text(PortType{kind, argument.dims}));
  return joined(kinds, " | ");
}

std::string outputs_text(const NodeSignature& signature) {
  std::vector<std::string> types;
  for (const OutputSpec& output : signature.outputs) {
    if (!output.carried) types.push_back(to_text(PortType{output.kind, output.dims}));
  }
  return joined(types, ", ");
}

std::string not_yet(bool runs) { return runs ? "" : "  (checked and planned; not executed by this version)\n"; }

std::string doc_text(const SettingSpec& spec) {
  if (!spec.runs) return spec.doc + "; not executed by this version";
  if (spec.not_executable.empty()) return spec.doc;
  return spec.doc + "; not executed by this version: " + joined(spec.not_executable, ", ");
}

}  // namespace

std::string values_text(const SettingSpec& spec) {
  switch (spec.type) {
    case SettingType::boolean: return "true | false";
    case SettingType::integer: return with_bounds("whole", spec);
    case SettingType::real: return with_bounds("number", spec);
    case SettingType::word: return joined(spec.words, " | ");
    case SettingType::word_list: return "[" + joined(spec.words, " | ") + ", …]";
    case SettingType::text: return "string";
    case SettingType::texts: return "string or [strings]";
    case SettingType::duration: return "ms, s, m or h";
    case SettingType::tokens: return "tokens";
    case SettingType::seqs: return "seqs";
    case SettingType::bytes: return "B, KiB, MiB or GiB";
    case SettingType::int_range: return with_bounds("lo..hi, each", spec);
    case SettingType::real_list: return with_bounds("[a, b], each", spec);
    case SettingType::word_or_real: return joined(spec.words, " | ") + " | " + with_bounds("number", spec);
    case SettingType::call: return joined(names_of(spec.calls), " | ");
    case SettingType::real_or_call: return with_bounds("number", spec) + " | " + joined(names_of(spec.calls), " | ");
  }
  return "";
}

std::string default_text(const SettingSpec& spec) {
  if (spec.fallback) return to_text(*spec.fallback);
  return spec.optional ? "none" : "required";
}

std::string call_text(const NodeSignature& signature) {
  std::vector<std::string> arguments;
  for (const ArgumentSpec& argument : signature.arguments) {
    std::string text = argument.named_only ? argument.name + "=" : argument.name;
    if (argument.variadic) text += ", …";
    if (argument.optional || argument.fallback) text = "[" + text + "]";
    arguments.push_back(text);
  }
  std::string outputs = outputs_text(signature);
  return signature.op + "(" + joined(arguments, ", ") + ")" + (outputs.empty() ? "" : " -> " + outputs);
}

std::string settings_text(const std::vector<SettingSpec>& settings, std::size_t width) {
  constexpr std::size_t kWidestValues = 30;
  Table table{{"setting", "default", "values", "meaning"}, {}, {}};
  for (const SettingSpec& spec : settings) {
    std::string values = values_text(spec);
    std::string doc = doc_text(spec);
    if (code_points(values) > kWidestValues) {  // long sets read better in the wrapped column
      doc += ": " + values;
      values = spec.type == SettingType::word ? "one of" : "";
    }
    table.rows.push_back({spec.name, default_text(spec), values, doc});
  }
  return table.rows.empty() ? "" : to_text(table, 2, width);
}

std::string describe_node(const NodeSignature& signature, std::size_t width) {
  std::string text = call_text(signature) + "\n";
  text += "  " + signature.doc + (signature.only_in_every ? "; stands in `every` blocks only" : "") + "\n";
  text += not_yet(signature.runs);
  Table inputs{{"input", "kind", "meaning"}, {}, {}};
  for (const ArgumentSpec& argument : signature.arguments) {
    std::string kind = argument_kind(argument) + (argument.optional ? ", optional" : "");
    if (argument.fallback) kind += ", default " + to_text(*argument.fallback);
    inputs.rows.push_back({argument.name, kind, argument.doc});
  }
  text += "\n" + to_text(inputs, 2, width);
  std::string settings = settings_text(signature.settings, width);
  return settings.empty() ? text : text + "\n" + settings;
}

std::string describe_source(const SourceSignature& source, const std::string& declaration, std::size_t width) {
  const char* argument = source.source == "exec" ? "command" : "path";
  std::string text =
      declaration + " NAME = " + source.source + "(\"" + (source.name.empty() ? argument : source.name) + "\")\n";
  text += "  " + source.doc + "\n" + not_yet(source.runs);
  std::vector<std::string> kinds;
  for (Kind kind : source.kinds) kinds.emplace_back(kind_name(kind));
  if (!kinds.empty()) text += "  gives " + joined(kinds, ", ") + "\n";
  std::string settings = settings_text(source.settings, width);
  return settings.empty() ? text : text + "\n" + settings;
}

std::string describe_call(const CallSpec& call, std::size_t width) {
  std::vector<std::string> arguments;
  for (const SettingSpec& argument : call.arguments) {
    arguments.push_back(argument.fallback || argument.optional ? "[" + argument.name + "]" : argument.name);
  }
  return call.name + "(" + joined(arguments, ", ") + ")\n  " + call.doc + "\n\n" + settings_text(call.arguments, width);
}

json setting_json(const SettingSpec& spec) {
  json object = {{"name", spec.name},
                 {"values", values_text(spec)},
                 {"default", spec.fallback ? json(to_text(*spec.fallback)) : json(nullptr)},
                 {"required", !spec.fallback && !spec.optional},
                 {"runs", spec.runs},
                 {"doc", spec.doc}};
  if (!spec.words.empty()) object["words"] = spec.words;
  if (!spec.not_executable.empty()) object["not_executable"] = spec.not_executable;
  for (const CallSpec& call : spec.calls) {
    json arguments = json::array();
    for (const SettingSpec& argument : call.arguments) arguments.push_back(setting_json(argument));
    object["calls"].push_back({{"name", call.name}, {"doc", call.doc}, {"arguments", arguments}});
  }
  return object;
}

json node_json(const NodeSignature& signature) {
  json inputs = json::array(), settings = json::array(), outputs = json::array();
  for (const ArgumentSpec& argument : signature.arguments) {
    inputs.push_back({{"name", argument.name},
                      {"kind", argument_kind(argument)},
                      {"optional", argument.optional || argument.fallback.has_value()},
                      {"named", argument.named_only},
                      {"doc", argument.doc}});
  }
  for (const OutputSpec& output : signature.outputs) {
    if (!output.carried) outputs.push_back(to_text(PortType{output.kind, output.dims}));
  }
  for (const SettingSpec& spec : signature.settings) settings.push_back(setting_json(spec));
  return {{"signature", signature.key}, {"op", signature.op},     {"usage", call_text(signature)},
          {"doc", signature.doc},       {"runs", signature.runs}, {"only_in_every", signature.only_in_every},
          {"inputs", inputs},           {"outputs", outputs},     {"settings", settings}};
}

json source_json(const SourceSignature& source) {
  json settings = json::array();
  for (const SettingSpec& spec : source.settings) settings.push_back(setting_json(spec));
  return {{"source", source.source},
          {"name", source.name},
          {"doc", source.doc},
          {"runs", source.runs},
          {"settings", settings}};
}

}  // namespace rlflow
