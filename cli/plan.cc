// `rlflow plan FILE`: what would a program do? Batches, placement, versions and the tasks of a step.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/program_input.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compiler/compile.h"
#include "compiler/names.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct PlanOptions {
  ProgramInput input;
  bool json = false;
};

std::string when_text(const Plan& plan, const PlanNode& node) {
  if (!node.schedule) return node.from > 1 ? "from step " + std::to_string(node.from) : "each step";
  std::string text = "every " + counted(node.schedule->every, "step");
  if (node.schedule->at_start) text += " and at start";
  return text + (plan.stop_after % node.schedule->every != 0 ? ", and the last" : "");
}

std::string inputs_text(const Plan& plan, const PlanNode& node) {
  std::string text;
  for (const PlanInput& input : node.inputs) {
    if (!input.node.valid()) continue;
    const PlanOutput& output = plan.nodes[input.node.index()].outputs[static_cast<std::size_t>(input.port)];
    text += (text.empty() ? "" : ", ") + (input.previous_step ? "prev " + output.name : output.name);
  }
  return text;
}

std::string outputs_text(const PlanNode& node) {
  std::string text;
  for (const PlanOutput& output : node.outputs) {
    if (output.type.kind == Kind::cursor) continue;
    text += (text.empty() ? "" : ", ") + to_text(output.type);
  }
  return text;
}

std::string place_text(const Plan& plan, const PlanNode& node) {
  return node.group.valid() ? plan.groups[node.group.index()].name : "host";
}

std::string model_text(const Plan& plan, const PlanNode& node) {
  if (node.replica.valid()) return "reads " + plan.replicas[node.replica.index()].name;
  if (!node.model.valid()) return "";
  return (node.op == "update" ? "makes " : "reads ") + plan.models[node.model.index()].name;
}

// Prompts and responses of a step, where the program fixes them.
std::vector<std::string> batch_lines(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanNode& node : plan.nodes) {
    if (node.op != "rollout" || !has(node.constants, "n")) continue;
    for (const PlanInput& input : node.inputs) {
      if (!input.node.valid() || !has(plan.nodes[input.node.index()].constants, "count")) continue;
      std::int64_t prompts = int_at(plan.nodes[input.node.index()].constants, "count");
      std::int64_t samples = int_at(node.constants, "n");
      std::int64_t longest = int_at(node.settings, "max_new");
      lines.push_back("`" + node.name + "`: " + with_commas(prompts) + " prompts x " + with_commas(samples) +
                      " samples = " + with_commas(prompts * samples) + " responses of at most " + with_commas(longest) +
                      " tokens a step");
    }
  }
  return lines;
}

void print_text(const Plan& plan) {
  std::cout << plan.flow << ": " << counted(plan.stop_after, "step") << ", "
            << counted(static_cast<std::int64_t>(plan.nodes.size()), "node") << "\n";
  for (const std::string& line : batch_lines(plan)) std::cout << line << "\n";
  Table groups{{"group", "devices", "threads"}, {}, {}};
  for (const PlanGroup& group : plan.groups) {
    std::string devices = group.device == DeviceKind::cpu
                              ? "cpu"
                              : "gpu[" + std::to_string(group.first) + ".." + std::to_string(group.last) + "]";
    groups.rows.push_back({group.name, devices, std::to_string(group.threads)});
  }
  Table models{{"model", "group", "dtype", "weights"}, {}, {}};
  for (const PlanModel& model : plan.models) {
    models.rows.push_back({model.name, plan.groups[model.group.index()].name, dtype_name(model.dtype),
                           std::string(model.random_init ? "drawn for " : "from ") + model.path +
                               (model.trainable ? ", trainable" : ", frozen")});
  }
  for (const PlanReplica& replica : plan.replicas) {
    std::string model = plan.models[replica.model.index()].name;
    models.rows.push_back({replica.name, plan.groups[replica.group.index()].name, dtype_name(replica.dtype),
                           (replica.in_place ? "the memory of " : "a copy of ") + model + ", synced every " +
                               counted(replica.every, "step") + " with lag " + std::to_string(replica.lag)});
  }
  Table nodes{{"node", "op", "reads", "gives", "on", "weights", "runs"}, {}, {}};
  for (const PlanNode& node : plan.nodes) {
    nodes.rows.push_back({node.name, node.op, inputs_text(plan, node), outputs_text(node), place_text(plan, node),
                          model_text(plan, node), when_text(plan, node)});
  }
  std::cout << "\n"
            << to_text(groups) << "\n"
            << to_text(models) << "\n"
            << to_text(nodes) << "\nmeaning " << hex(plan.meaning) << "\n";
}

json plan_json(const Plan& plan) {
  json object = {{"format", "rlflow.plan/1"},    {"flow", plan.flow},       {"steps", plan.stop_after},
                 {"meaning", hex(plan.meaning)}, {"groups", json::array()}, {"models", json::array()},
                 {"replicas", json::array()},    {"nodes", json::array()}};
  for (const PlanGroup& group : plan.groups) {
    object["groups"].push_back({{"name", group.name},
                                {"device", group.device == DeviceKind::cpu ? "cpu" : "gpu"},
                                {"first", group.first},
                                {"last", group.last},
                                {"threads", group.threads},
                                {"tp", group.tp},
                                {"dp", group.dp}});
  }
  for (const PlanModel& model : plan.models) {
    object["models"].push_back({{"name", model.name},
                                {"path", model.path},
                                {"random_init", model.random_init},
                                {"group", plan.groups[model.group.index()].name},
                                {"dtype", dtype_name(model.dtype)},
                                {"trainable", model.trainable}});
  }
  for (const PlanReplica& replica : plan.replicas) {
    object["replicas"].push_back({{"name", replica.name},
                                  {"model", plan.models[replica.model.index()].name},
                                  {"in_place", replica.in_place},
                                  {"every", replica.every},
                                  {"lag", replica.lag}});
  }
  for (const PlanNode& node : plan.nodes) {
    json outputs = json::array();
    for (const PlanOutput& output : node.outputs)
      outputs.push_back({{"name", output.name}, {"type", to_text(output.type)}});
    object["nodes"].push_back({{"name", node.name},
                               {"op", node.op},
                               {"signature", node.signature},
                               {"on", place_text(plan, node)},
                               {"outputs", outputs},
                               {"constants", to_text(node.constants)},
                               {"settings", to_text(node.settings)},
                               {"runs", when_text(plan, node)}});
  }
  return object;
}

ExitCode show_plan(const PlanOptions& options, const Session& session) {
  const Catalog known = catalog();
  Compilation compilation = compile(compile_request(options.input), known);
  print_diagnostics(compilation.analysis, session);
  if (!compilation.analysis.readable) return ExitCode::could_not_answer;
  if (!compilation.plan) {
    if (compilation.analysis.ok()) std::cerr << options.input.path << " is a library: it has no flow to plan\n";
    return ExitCode::no;
  }
  if (options.json) {
    print_json(plan_json(*compilation.plan));
  } else {
    print_text(*compilation.plan);
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_plan(CLI::App& app, const Session& session) {
  auto options = std::make_shared<PlanOptions>();  // shared by the parser, which fills it, and the action
  add_program_input(app, options->input);
  app.add_flag("--json", options->json, "print one JSON object, rlflow.plan/1");
  return [options, &session] { return show_plan(*options, session); };
}

}  // namespace rlflow
