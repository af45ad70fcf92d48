// `rlflow explain`: what does a code, a node, a setting or a source mean?
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/catalog_text.h"
#include "cli/json_output.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "compiler/diagnostic_codes.h"
#include "compiler/names.h"
#include "nodes/signatures/catalog.h"
#include "runtime/contract/failure_codes.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct ExplainOptions {
  std::string subject;
  bool as_json = false;
};

// Settings that several things share, under the name of what takes them.
struct Owner {
  std::string name;
  const std::vector<SettingSpec>* settings;
};

std::vector<Owner> setting_owners(const Catalog& catalog) {
  std::vector<Owner> owners = {{"every node", &catalog.common},
                               {"model", &catalog.model_settings},
                               {"group", &catalog.group_settings},
                               {"replica", &catalog.replica_settings},
                               {"sync", &catalog.sync_settings}};
  for (const NodeSignature& node : catalog.nodes) owners.push_back({node.key, &node.settings});
  for (const auto* list : {&catalog.data, &catalog.rewards}) {
    for (const SourceSignature& source : *list) {
      owners.push_back({source.name.empty() ? source.source : source.name, &source.settings});
    }
  }
  return owners;
}

void collect_calls(const std::vector<SettingSpec>& settings, std::vector<CallSpec>& calls) {
  for (const SettingSpec& spec : settings) {
    for (const CallSpec& call : spec.calls) {
      calls.push_back(call);
      collect_calls(call.arguments, calls);
    }
  }
}

std::vector<CallSpec> all_calls(const Catalog& catalog) {
  std::vector<CallSpec> calls;
  for (const Owner& owner : setting_owners(catalog)) collect_calls(*owner.settings, calls);
  return calls;
}

std::string indented(std::string_view text, const std::string& margin) {
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) out += margin + line + "\n";
  return out;
}

std::string code_text(const CodeInfo& info, std::size_t width) {
  std::string text = std::string(info.lint.empty() ? "error" : "warning") + "[" + std::string(info.code) +
                     "]: " + std::string(info.headline) + "\n\n";
  for (const std::string& line : wrapped(std::string(info.text), width)) text += line + "\n";
  if (!info.wrong.empty()) text += "\nwrong:\n" + indented(info.wrong, "    ");
  if (!info.right.empty()) text += "\nright:\n" + indented(info.right, "    ");
  if (!info.lint.empty()) {
    std::string name(info.lint);
    text +=
        "\nlint `" + name + "`: -W " + name + "=allow|warn|deny, or `# rlflow: allow(" + name + ")` above the line\n";
  }
  return text;
}

json code_json(const CodeInfo& info) {
  return {{"code", info.code},  {"level", info.lint.empty() ? "error" : "warning"},
          {"lint", info.lint},  {"headline", info.headline},
          {"text", info.text},  {"wrong", info.wrong},
          {"right", info.right}};
}

std::string failure_text(const FailureInfo& info, std::size_t width) {
  std::string text = "failure[" + std::string(info.code) + "]: " + std::string(info.headline) + "\n\n";
  for (const std::string& line : wrapped(std::string(info.text), width)) text += line + "\n";
  return text;
}

json failure_json(const FailureInfo& info) {
  return {{"code", info.code}, {"level", "failure"}, {"headline", info.headline}, {"text", info.text}};
}

json settings_json(const std::vector<SettingSpec>& settings) {
  json list = json::array();
  for (const SettingSpec& spec : settings) list.push_back(setting_json(spec));
  return list;
}

// Everything that has this name, as text and as JSON.
struct Found {
  std::string text;
  json list = json::array();

  void add(std::string more, json object, const char* kind) {
    text += (text.empty() ? "" : "\n") + std::move(more);
    object["kind"] = kind;
    list.push_back(std::move(object));
  }
};

void find_in_catalog(const std::string& name, const Catalog& catalog, std::size_t width, Found& found) {
  for (const NodeSignature& node : catalog.nodes) {
    if (node.op == name || node.key == name) found.add(describe_node(node, width), node_json(node), "node");
  }
  for (const SourceSignature& source : catalog.data) {
    bool match = source.name.empty() ? source.source == name : source.name == name;
    if (match) found.add(describe_source(source, "data", width), source_json(source), "data");
  }
  for (const SourceSignature& source : catalog.rewards) {
    bool match = source.name.empty() ? source.source == name : source.name == name;
    if (match) found.add(describe_source(source, "reward", width), source_json(source), "reward");
  }
  std::set<std::string> shown;
  for (const CallSpec& call : all_calls(catalog)) {
    if (call.name == name && shown.insert(call.name).second) {
      found.add(describe_call(call, width), {{"name", call.name}, {"doc", call.doc}}, "function");
    }
  }
}

void find_settings(const std::string& name, const Catalog& catalog, std::size_t width, Found& found) {
  for (const Owner& owner : setting_owners(catalog)) {
    if (owner.name == name && !owner.settings->empty()) {
      if (owner.name.find('/') == std::string::npos && found.list.empty()) {
        found.add("settings of a " + name + "\n\n" + settings_text(*owner.settings, width),
                  {{"name", name}, {"settings", settings_json(*owner.settings)}}, "declaration");
      }
    }
    for (const SettingSpec& spec : *owner.settings) {
      if (spec.name != name) continue;
      json object = setting_json(spec);
      object["of"] = owner.name;
      found.add("`" + name + "` of " + owner.name + "\n\n" + settings_text({spec}, width), object, "setting");
    }
  }
}

Found find(const std::string& subject, const Catalog& catalog, std::size_t width) {
  Found found;
  std::string upper = subject;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const CodeInfo* code = find_code(upper);
  if (code == nullptr) code = find_lint(subject);
  if (code != nullptr) {
    found.add(code_text(*code, width), code_json(*code), "code");
    return found;
  }
  if (const FailureInfo* failure = find_failure(upper)) {
    found.add(failure_text(*failure, width), failure_json(*failure), "code");
    return found;
  }
  find_in_catalog(subject, catalog, width, found);
  find_settings(subject, catalog, width, found);
  return found;
}

std::vector<std::string> known_subjects(const Catalog& catalog) {
  std::set<std::string> names;
  for (const CodeInfo& info : diagnostic_codes()) {
    names.emplace(info.code);
    if (!info.lint.empty()) names.emplace(info.lint);
  }
  for (const FailureInfo& info : failure_codes()) names.emplace(info.code);
  for (const NodeSignature& node : catalog.nodes) names.insert(node.op);
  for (const Owner& owner : setting_owners(catalog)) {
    if (owner.name.find(' ') == std::string::npos) names.insert(owner.name);
    for (const SettingSpec& spec : *owner.settings) names.insert(spec.name);
  }
  for (const CallSpec& call : all_calls(catalog)) names.insert(call.name);
  return {names.begin(), names.end()};
}

json sources_json(const std::vector<SourceSignature>& sources) {
  json list = json::array();
  for (const SourceSignature& source : sources) list.push_back(source_json(source));
  return list;
}

// What belongs to no node: settings of declarations, functions that stand as a setting's value.
json declarations_json(const Catalog& catalog) {
  json list = json::array();
  for (const Owner& owner : setting_owners(catalog)) {
    if (owner.name == catalog.nodes.front().key) break;  // the nodes follow the declarations
    list.push_back({{"name", owner.name}, {"settings", settings_json(*owner.settings)}});
  }
  return list;
}

json functions_json(const Catalog& catalog) {
  json list = json::array();
  std::set<std::string> listed;
  for (const CallSpec& call : all_calls(catalog)) {
    if (!listed.insert(call.name).second) continue;
    list.push_back({{"name", call.name}, {"doc", call.doc}, {"arguments", settings_json(call.arguments)}});
  }
  return list;
}

void list_everything(const Catalog& catalog, std::size_t width, bool as_json) {
  json codes = json::array(), nodes = json::array();
  Table code_table{{"code", "headline"}, {}, {}};
  for (const CodeInfo& info : diagnostic_codes()) {
    codes.push_back(code_json(info));
    code_table.rows.push_back({std::string(info.code), std::string(info.headline)});
  }
  for (const FailureInfo& info : failure_codes()) {
    codes.push_back(failure_json(info));
    code_table.rows.push_back({std::string(info.code), std::string(info.headline)});
  }
  Table node_table{{"node", "meaning"}, {}, {}};
  for (const NodeSignature& node : catalog.nodes) {
    nodes.push_back(node_json(node));
    node_table.rows.push_back({node.key, node.doc});
  }
  if (as_json) {
    return print_json({{"format", "rlflow.explain/1"},
                       {"codes", codes},
                       {"nodes", nodes},
                       {"data", sources_json(catalog.data)},
                       {"rewards", sources_json(catalog.rewards)},
                       {"declarations", declarations_json(catalog)},
                       {"functions", functions_json(catalog)}});
  }
  std::cout << to_text(code_table, 0, width) << "\n" << to_text(node_table, 0, width);
}

ExitCode explain(const ExplainOptions& options, const Session& session) {
  const Catalog known = catalog();
  const auto width = static_cast<std::size_t>(terminal_of(STDOUT_FILENO, session).width);
  if (options.subject.empty()) {
    list_everything(known, width, options.as_json);
    return ExitCode::yes;
  }
  Found found = find(options.subject, known, width);
  if (found.list.empty()) {
    std::cerr << "rlflow explain: there is no code, node, setting or source `" << printable(options.subject) << "`\n";
    std::vector<std::string> close = close_names(options.subject, known_subjects(known));
    std::cerr << "  = help: "
              << (close.empty() ? session.invoked_as + " explain lists the codes and nodes"
                                : "did you mean " + quoted_list(close) + "?")
              << "\n";
    return ExitCode::could_not_answer;
  }
  if (options.as_json) {
    print_json({{"format", "rlflow.explain/1"}, {"subject", options.subject}, {"found", found.list}});
  } else {
    std::cout << found.text;
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_explain(CLI::App& app, const Session& session) {
  // Shared by the parser, which fills it, and the action, which reads it.
  auto options = std::make_shared<ExplainOptions>();
  app.add_option("SUBJECT", options->subject,
                 "a code (E0301), lint, node (update), setting (temperature), source (addition) or function (adamw); "
                 "without it, the codes and nodes are listed")
      ->option_text(" ");
  app.add_flag("--json", options->as_json, "print one JSON object, rlflow.explain/1");
  return [options, &session] { return explain(*options, session); };
}

}  // namespace rlflow
