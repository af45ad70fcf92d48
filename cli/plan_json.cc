// A Plan and its figures as JSON.
#include "cli/plan_json.h"

#include <nlohmann/json.hpp>

#include "compiler/names.h"

namespace rlflow {
namespace {

using nlohmann::json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json memory_json(const Plan& plan, const DeviceNeed& need) {
  json parts = json::array();
  for (const MemoryPart& part : need.parts) {
    json object = {{"part", part_name(part.kind)}, {"bytes", or_null(part.bytes)}};
    if (part.model.valid()) object["model"] = plan.models[part.model.index()].name;
    if (part.replica.valid()) object["replica"] = plan.replicas[part.replica.index()].name;
    if (part.task.valid()) object["while"] = plan.nodes[part.task.index()].name;
    parts.push_back(std::move(object));
  }
  return {{"device", need.group.valid() ? "each of " + devices_text(plan.groups[need.group.index()]) : "host"},
          {"group", need.group.valid() ? json(plan.groups[need.group.index()].name) : json(nullptr)},
          {"always", need.always},
          {"peak", need.peak},
          {"there", need.there},
          {"complete", need.complete},
          {"parts", parts}};
}

json batches_json(const Plan& plan, const PlanSizes& sizes) {
  json list = json::array();
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const NodeSize& size = sizes.nodes[n];
    json object = {{"node", plan.nodes[n].name},
                   {"rows", or_null(size.rows)},
                   {"prompt_tokens", or_null(size.prompt)},
                   {"response_tokens", or_null(size.response)},
                   {"ranks", size.ranks}};
    if (auto cut = cutting_of(plan.nodes[n], size)) {
      object["minibatch"] = cut->minibatch;
      object["epochs"] = cut->epochs;
      object["optimizer_steps"] = cut->optimizer_steps;
      object["rows_a_rank"] = cut->rows_a_rank;
      object["micro_batches_at_most"] = or_null(cut->micro_batches);
    }
    list.push_back(std::move(object));
  }
  return list;
}

json edges_json(const Plan& plan, const PlanSizes& sizes) {
  json list = json::array();
  for (const EdgeSize& edge : sizes.edges) {
    json readers = json::array();
    for (NodeId reader : edge.readers) readers.push_back(plan.nodes[reader.index()].name);
    list.push_back({{"from", plan.nodes[edge.from.index()].name},
                    {"output", plan.nodes[edge.from.index()].outputs[static_cast<std::size_t>(edge.port)].name},
                    {"to", readers},
                    {"nominal", or_null(edge.bytes.nominal)},
                    {"most", or_null(edge.bytes.most)},
                    {"between_groups", edge.between_groups}});
  }
  return list;
}

}  // namespace

std::string when_text(const Plan& plan, const PlanNode& node) {
  if (node.round > 0) return "refill " + std::to_string(node.round);
  if (!node.schedule) return node.from > 1 ? "from step " + std::to_string(node.from) : "each step";
  std::string text = "every " + counted(node.schedule->every, "step");
  if (node.schedule->at_start) text += " and at start";
  return text + (plan.stop_after % node.schedule->every != 0 ? ", and the last" : "");
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
    object["models"].push_back(
        {{"name", model.name},
         {"path", model.path},
         {"random_init", model.random_init},
         {"base_of", model.base_of.valid() ? json(plan.models[model.base_of.index()].name) : json()},
         {"group", plan.groups[model.group.index()].name},
         {"dtype", dtype_name(model.dtype)},
         {"trainable", model.trainable}});
  }
  for (const PlanReplica& replica : plan.replicas) {
    object["replicas"].push_back({{"name", replica.name},
                                  {"model", plan.models[replica.model.index()].name},
                                  {"in_place", replica.in_place},
                                  {"every", replica.every},
                                  {"lag", replica.lag},
                                  {"lag_at_most", replica.lag_at_most}});
  }
  for (const PlanNode& node : plan.nodes) {
    json outputs = json::array();
    for (const PlanOutput& output : node.outputs)
      outputs.push_back({{"name", output.name}, {"type", to_text(output.type)}});
    object["nodes"].push_back({{"name", node.name},
                               {"op", node.op},
                               {"signature", node.signature},
                               {"on", node.group.valid() ? plan.groups[node.group.index()].name : "host"},
                               {"outputs", outputs},
                               {"constants", to_text(node.constants)},
                               {"settings", to_text(node.settings)},
                               {"round", node.round},
                               {"runs", when_text(plan, node)}});
  }
  return object;
}

void add_figures(const Plan& plan, const Machine& machine, const PlanFigures& figures, json& object) {
  json gpus = json::array();
  for (const Gpu& gpu : machine.cluster.gpus) gpus.push_back({{"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
  object["machine"] = {{"name", machine.cluster.name},
                       {"origin", machine.origin},
                       {"threads", machine.cluster.cpu_threads},
                       {"memory_bytes", machine.cluster.memory_bytes},
                       {"gpus", gpus},
                       {"rate_sources", machine.rate_sources}};
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const auto& shape = figures.models[m].shape;
    object["models"][m]["parameters"] = shape ? json(parameters_of(*shape, plan.models[m].head)) : json(nullptr);
  }
  object["batches"] = batches_json(plan, figures.sizes);
  object["edges"] = edges_json(plan, figures.sizes);
  object["steps_in_flight"] = figures.sizes.steps_in_flight;
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    object["replicas"][r]["sync_bytes"] = or_null(figures.sizes.syncs[r].bytes);
    object["replicas"][r]["sync_seconds"] = or_null(figures.time.syncs[r]);
  }
  object["memory"] = json::array();
  for (const DeviceNeed& need : figures.memory) object["memory"].push_back(memory_json(plan, need));
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) object["nodes"][n]["seconds"] = or_null(figures.time.nodes[n]);
  object["estimate"] = {{"seconds_a_step", or_null(figures.time.step)},
                        {"complete", figures.time.complete},
                        {"groups_side_by_side", figures.time.overlapped},
                        {"kind", "floor at the machine's rates"}};
}

}  // namespace rlflow
