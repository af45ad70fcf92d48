// Pipeline and plan as text, a line for each thing.
#include "compiler/dump.h"

namespace rlflow {
namespace {

std::string text_of(const Settings& settings) {
  std::string text = "{";
  for (const auto& [name, setting] : settings) {
    const char* origin = setting.origin == Origin::fallback ? "" : setting.origin == Origin::source ? "!" : "!!";
    text += (text.size() > 1 ? ", " : "") + name + origin + " = " + to_text(setting.value);
  }
  return text + "}";
}

std::string metric_text(const std::string& metric) { return metric.empty() ? "" : "." + metric; }

std::string input_text(const Pipeline& pipeline, const NodeInput& input) {
  switch (input.from) {
    case NodeInput::From::absent: return "-";
    case NodeInput::From::declaration: return "declared";
    case NodeInput::From::constant: return "constant";
    case NodeInput::From::unknown: return "?";
    case NodeInput::From::edge:
      return pipeline.node(input.node).name + "#" + std::to_string(input.port) + metric_text(input.metric);
    case NodeInput::From::previous_step:
      return "prev " + pipeline.node(input.node).name + "#" + std::to_string(input.port) + metric_text(input.metric) +
             " init " + double_text(input.init);
  }
  return "";
}

std::string node_text(const Pipeline& pipeline, const FlowNode& node) {
  std::string text = "node " + node.name + " = " + (node.signature ? node.signature->key : node.op + "?") + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    text += (i > 0 ? ", " : "") + input_text(pipeline, node.inputs[i]);
  text += ") ->";
  for (const NodeOutput& output : node.outputs)
    text += " " + (output.known ? to_text(pipeline.type_of(output)) : std::string("?"));
  text += " " + to_text(node.constants) + " " + text_of(node.settings);
  if (node.block.valid()) text += " block " + std::to_string(node.block.value);
  return text + (node.removed ? " removed" : "") + (node.known ? "" : " unknown") + "\n";
}

std::string id_text(const char* name, std::int32_t id) {
  return id < 0 ? "" : std::string(" ") + name + " " + std::to_string(id);
}

std::string node_text(const PlanNode& node) {
  std::string text = "node " + node.name + " " + node.signature + "/" + std::to_string(node.op_version) + " (";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const PlanInput& input = node.inputs[i];
    text += i > 0 ? ", " : "";
    if (!input.node.valid()) {
      text += "-";
      continue;
    }
    text += std::to_string(input.node.value) + "#" + std::to_string(input.port) + metric_text(input.metric);
    if (input.previous_step) text += " prev " + double_text(input.init);
  }
  text += ") ->";
  for (const PlanOutput& output : node.outputs)
    text += " " + (output.name.empty() ? "_" : output.name) + ":" + to_text(output.type);
  text += id_text("group", node.group.value) + id_text("model", node.model.value) +
          id_text("replica", node.replica.value) + id_text("data", node.data.value) +
          id_text("reward", node.reward.value) + id_text("tokenizer", node.tokenizer.value);
  for (ModelId model : node.models) text += id_text("saves", model.value);
  text += " " + to_text(node.constants) + " " + to_text(node.settings);
  if (node.schedule)
    text += " every " + std::to_string(node.schedule->every) + (node.schedule->at_start ? " start" : "");
  if (node.from > 1) text += " from " + std::to_string(node.from);
  if (node.retry > 0) text += " retry " + std::to_string(node.retry);
  if (node.timeout_ms > 0) text += " timeout " + std::to_string(node.timeout_ms) + "ms";
  return text + "\n";
}

}  // namespace

std::string dump(const Pipeline& pipeline) {
  std::string text = "flow " + pipeline.flow + "\n";
  for (const Param& param : pipeline.params) text += "param " + param.name + " = " + to_text(param.value) + "\n";
  for (const Group& group : pipeline.groups) {
    text += "group " + group.name + (group.device == DeviceKind::cpu ? " cpu" : " gpu") + "[" +
            std::to_string(group.first) + ".." + std::to_string(group.last) + "] " + text_of(group.settings) + "\n";
  }
  for (const Model& model : pipeline.models) {
    text += "model " + model.name + " " + model.loader + " " + model.path + id_text("base_of", model.base_of.value) +
            id_text("group", model.group.value) + " " + text_of(model.settings) + "\n";
  }
  for (const Replica& replica : pipeline.replicas) {
    text += "replica " + replica.name + id_text("model", replica.model.value) + id_text("group", replica.group.value) +
            "\n";
  }
  for (const Source& data : pipeline.data)
    text += "data " + data.name + " " + data.source + " " + data.argument + " " + text_of(data.settings) + "\n";
  for (const Source& reward : pipeline.rewards)
    text +=
        "reward " + reward.name + " " + reward.source + " " + reward.argument + " " + text_of(reward.settings) + "\n";
  for (const FlowNode& node : pipeline.nodes) text += node_text(pipeline, node);
  for (const Sync& sync : pipeline.syncs) {
    text += "sync" + id_text("model", sync.model.value) + id_text("replica", sync.replica.value) + " every " +
            std::to_string(sync.every) + " lag " + (sync.lag_at_most ? "<= " : "") + std::to_string(sync.lag) + "\n";
  }
  if (pipeline.stop_after) text += "stop " + std::to_string(*pipeline.stop_after) + "\n";
  return text;
}

std::string dump(const Plan& plan) {
  std::string text = "flow " + plan.flow + " stop " + std::to_string(plan.stop_after) + "\n";
  for (const PlanGroup& group : plan.groups) {
    text += "group " + group.name + (group.device == DeviceKind::cpu ? " cpu" : " gpu") + "[" +
            std::to_string(group.first) + ".." + std::to_string(group.last) + "] threads " +
            std::to_string(group.threads) + " tp " + std::to_string(group.tp) + " dp " + std::to_string(group.dp) +
            "\n";
  }
  for (const PlanModel& model : plan.models) {
    text += "model " + model.name + (model.random_init ? " init " : " load ") + model.path +
            id_text("base_of", model.base_of.value) + id_text("group", model.group.value) + " " +
            dtype_name(model.dtype) + (model.trainable ? " trainable " : " frozen ") +
            (model.optim ? to_text(Value(*model.optim)) : "") + " " + to_text(model.settings) + "\n";
  }
  for (const PlanReplica& replica : plan.replicas) {
    text += "replica " + replica.name + id_text("model", replica.model.value) + id_text("group", replica.group.value) +
            " " + dtype_name(replica.dtype) + " every " + std::to_string(replica.every) + " lag " +
            std::to_string(replica.lag) + (replica.in_place ? " in place" : " copy") + "\n";
  }
  for (const PlanData& data : plan.data)
    text += "data " + data.name + " " + data.source + " " + data.argument + " " + to_text(data.settings) + "\n";
  for (const PlanReward& reward : plan.rewards)
    text +=
        "reward " + reward.name + " " + reward.source + " " + reward.argument + " " + to_text(reward.settings) + "\n";
  for (const PlanNode& node : plan.nodes) text += node_text(node);
  return text;
}

}  // namespace rlflow
