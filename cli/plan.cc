// `rlflow plan FILE`: what would a program do? Batches, placement, versions and the tasks of a step.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/plan_json.h"
#include "cli/planning/memory_messages.h"
#include "cli/planning/plan_text.h"
#include "cli/planning/unread_seconds.h"
#include "cli/program_input.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compiler/compile.h"
#include "compiler/names.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

using nlohmann::json;

constexpr std::size_t kWidth = 100;

struct PlanOptions {
  ProgramInput input;
  std::string machine;  // --machine; empty: the one found here
  bool json = false;
};

std::string inputs_text(const Plan& plan, const PlanNode& node) {
  std::string text;
  for (const PlanInput& input : node.inputs) {
    if (!input.node.valid()) continue;
    const PlanOutput& output = plan.nodes[input.node.index()].outputs[static_cast<std::size_t>(input.port)];
    text += (text.empty() ? "" : ", ") + (input.previous_step ? "prev " + output.name : output.name);
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

// What a node reads: outputs, then weights.
std::string reads_text(const Plan& plan, const PlanNode& node) {
  std::string inputs = inputs_text(plan, node);
  std::string weights = model_text(plan, node);
  return inputs + (inputs.empty() || weights.empty() ? "" : "; ") + weights;
}

// "base of policy"; "from models/tiny, trainable, adapters of rank 8 on q_proj, v_proj"
std::string origin_text(const Plan& plan, const PlanModel& model) {
  if (model.base_of.valid()) return "base of " + plan.models[model.base_of.index()].name;
  std::string text = std::string(model.random_init ? "drawn for " : "from ") + model.path;
  const CallValue* lora = lora_of(model);
  if (lora == nullptr) return text + (model.trainable ? ", trainable" : ", frozen");
  text += ", adapters of rank " + std::to_string(int_at(lora->named, "rank")) + " on ";
  bool first = true;
  for (const Value& target : *value_at(lora->named, "targets").get<List>()) {
    text += (first ? "" : ", ") + target.get<Word>()->name;
    first = false;
  }
  return text;
}

void print_text(const Plan& plan, const Machine& machine, const PlanFigures& figures) {
  std::cout << plan.flow << ": " << counted(plan.stop_after, "step") << ", "
            << counted(static_cast<std::int64_t>(plan.nodes.size()), "node") << "\n"
            << machine_text(machine);
  Table groups{{"group", "devices", "threads", "tp", "dp"}, {}, {}};
  for (const PlanGroup& group : plan.groups) {
    groups.rows.push_back({group.name, devices_text(group), std::to_string(group.threads), std::to_string(group.tp),
                           std::to_string(group.dp)});
  }
  Table models{{"model", "group", "dtype", "parameters", "weights"}, {}, {false, false, false, true}};
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const PlanModel& model = plan.models[m];
    const auto& shape = figures.models[m].shape;
    models.rows.push_back({model.name, plan.groups[model.group.index()].name, dtype_name(model.dtype),
                           shape ? with_commas(parameters_of(*shape, model.head)) : "unknown",
                           origin_text(plan, model)});
  }
  for (const PlanReplica& replica : plan.replicas) {
    std::string model = plan.models[replica.model.index()].name;
    models.rows.push_back({replica.name, plan.groups[replica.group.index()].name, dtype_name(replica.dtype), "",
                           (replica.in_place ? "the memory of " : "a copy of ") + model + ", synced every " +
                               counted(replica.every, "step") + " with lag " + (replica.lag_at_most ? "at most " : "") +
                               std::to_string(replica.lag)});
  }
  Table nodes{{"task", "op", "on", "runs", "reads"}, {}, {}};
  for (const PlanNode& node : plan.nodes) {
    nodes.rows.push_back({node.name, node.op, place_text(plan, node), when_text(plan, node), reads_text(plan, node)});
  }
  std::cout << "\n"
            << to_text(groups) << "\n"
            << to_text(models) << "\n"
            << to_text(nodes, 0, kWidth) << "\n"
            << figures_text(plan, figures) << "\nmeaning " << hex(plan.meaning) << "\n";
}

ExitCode show_plan(const PlanOptions& options, const Session& session) {
  const Catalog known = catalog();
  const Machine machine = machine_of(options.machine);
  CompileRequest request = compile_request(options.input);
  request.cluster = &machine.cluster;
  Compilation compilation = compile(request, known);
  if (!compilation.plan) {
    print_diagnostics(compilation.analysis, session);
    if (!compilation.analysis.readable) return ExitCode::could_not_answer;
    if (compilation.analysis.ok()) std::cerr << options.input.path << " is a library: it has no flow to plan\n";
    return ExitCode::no;
  }
  const Plan& plan = *compilation.plan;
  const PlanFigures figures = figures_of(plan, machine.cluster);
  add_unread_seconds(plan, compilation.analysis.pipeline, figures.time, compilation.analysis.diagnostics);
  print_diagnostics(compilation.analysis, session);
  Diagnostics too_large;
  check_memory(plan, compilation.analysis.pipeline, figures.models, machine.cluster, too_large);
  const bool fits = !too_large.has_errors();
  compilation.analysis.diagnostics = too_large.take();
  print_diagnostics(compilation.analysis, session);
  if (options.json) {
    json object = plan_json(plan);
    add_figures(plan, machine, figures, object);
    object["fits"] = fits;
    print_json(object);
  } else {
    print_text(plan, machine, figures);
  }
  return fits ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_plan(CLI::App& app, const Session& session) {
  auto options = std::make_shared<PlanOptions>();  // shared by the parser, which fills it, and the action
  add_program_input(app, options->input);
  app.add_option("--machine", options->machine, "plan for this machine, rlflow.machine/1; else the one found here")
      ->option_text("FILE");
  app.add_flag("--json", options->json, "print one JSON object, rlflow.plan/1");
  return [options, &session] { return show_plan(*options, session); };
}

}  // namespace rlflow
