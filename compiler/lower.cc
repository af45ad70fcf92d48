// Copies what survives into the Plan, with its ids renumbered.
#include "compiler/lower.h"

#include <map>
#include <numeric>

#include "compiler/check.h"
#include "compiler/refill.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

template <class IdType>
std::map<IdType, IdType> renumber(const std::set<IdType>& used) {
  std::map<IdType, IdType> numbers;
  for (IdType id : used) {
    IdType next(numbers.size());
    numbers.emplace(id, next);
  }
  return numbers;
}

template <class IdType>
IdType renumbered(const std::map<IdType, IdType>& numbers, IdType id) {
  auto found = numbers.find(id);
  return found == numbers.end() ? IdType() : found->second;
}

Attributes values_of(const Settings& settings) {
  Attributes values;
  for (const auto& [name, setting] : settings) values.emplace(name, setting.value);
  return values;
}

// Numbers of the survivors, old -> new.
struct Numbers {
  std::map<GroupId, GroupId> groups;
  std::map<ModelId, ModelId> models;
  std::map<ReplicaId, ReplicaId> replicas;
  std::map<DataId, DataId> data;
  std::map<RewardId, RewardId> rewards;
  std::map<NodeId, NodeId> nodes;

  explicit Numbers(const Pipeline& pipeline) {
    Usage usage = usage_of(pipeline);
    groups = renumber(usage.groups);
    models = renumber(usage.models);
    replicas = renumber(usage.replicas);
    data = renumber(usage.data);
    rewards = renumber(usage.rewards);
    std::set<NodeId> live;
    for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
      if (!pipeline.nodes[n].removed) live.insert(NodeId(n));
    }
    nodes = renumber(live);
  }
};

PlanGroup lower_group(const Group& group) {
  return {group.name, group.device, group.first, group.last, group.threads, group.tp, group.dp, group.span};
}

PlanModel lower_model(const Model& model, const Numbers& numbers) {
  PlanModel plan;
  plan.name = model.name;
  plan.random_init = model.loader == "init";
  plan.path = model.path;
  plan.init_seed = static_cast<std::uint64_t>(model.init_seed);
  plan.base_of = renumbered(numbers.models, model.base_of);
  plan.group = renumbered(numbers.groups, model.group);
  plan.dtype = model.dtype;
  plan.head = model.head;
  plan.trainable = model.trainable;
  plan.span = model.span;
  for (const auto& [name, setting] : model.settings) {
    bool has_field = name == "trainable" || name == "dtype" || name == "head";
    if (name == "optim")
      plan.optim = *setting.value.get<CallValue>();
    else if (!has_field)
      plan.settings.emplace(name, setting.value);
  }
  return plan;
}

PlanReplica lower_replica(const Pipeline& pipeline, const PlacedPipeline& placed, ReplicaId id,
                          const Numbers& numbers) {
  const Replica& replica = pipeline.replicas[id.index()];
  PlanReplica plan;
  plan.name = replica.name;
  plan.model = renumbered(numbers.models, replica.model);
  plan.group = renumbered(numbers.groups, replica.group);
  plan.dtype = replica.dtype;
  plan.in_place = placed.replicas_in_place[id.index()];
  plan.span = replica.span;
  if (const Sync* sync = pipeline.sync_of(id)) {
    plan.every = sync->every;
    plan.lag = sync->lag;
    plan.lag_at_most = sync->lag_at_most;
  }
  return plan;
}

std::vector<std::string> free_settings(const std::vector<SettingSpec>& specs) {
  std::vector<std::string> names;
  for (const SettingSpec& spec : specs) {
    if (!spec.in_meaning) names.push_back(spec.name);
  }
  return names;
}

PlanData lower_data(const Source& source) {
  return {source.name, source.source, source.argument, values_of(source.settings), source.span};
}

PlanReward lower_reward(const Source& source) {
  return {source.name,
          source.source,
          source.argument,
          values_of(source.settings),
          free_settings(source.signature->settings),
          source.span};
}

// Nodes joined by edges that carry tokens share one tokenizer: that of the first model among them.
class Tokenizers {
 public:
  explicit Tokenizers(const Pipeline& pipeline) : parent_(pipeline.nodes.size()), model_(pipeline.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
      for (const NodeInput& input : pipeline.nodes[n].inputs) {
        if (input.from != NodeInput::From::edge || pipeline.nodes[n].removed) continue;
        const NodeOutput& output = pipeline.node(input.node).outputs[static_cast<std::size_t>(input.port)];
        if (carries_tokens(output.kind)) parent_[find(n)] = find(input.node.index());
      }
    }
    for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
      ModelId& model = model_[find(n)];
      if (!model.valid() && !pipeline.nodes[n].removed) model = pipeline.nodes[n].model;
    }
  }

  ModelId of(NodeId id) { return model_[find(id.index())]; }

 private:
  std::size_t find(std::size_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }

  std::vector<std::size_t> parent_;
  std::vector<ModelId> model_;
};

PlanInput lower_input(const NodeInput& input, const Numbers& numbers) {
  PlanInput plan;
  bool previous = input.from == NodeInput::From::previous_step;
  if (input.from != NodeInput::From::edge && !previous) return plan;
  plan.node = renumbered(numbers.nodes, input.node);
  plan.port = input.port;
  plan.metric = input.metric;
  plan.previous_step = previous;
  plan.init = input.init;
  return plan;
}

OnFailure on_failure_of(const std::string& word) {
  if (word == "drop_group") return OnFailure::drop_group;
  return word == "fail" ? OnFailure::fail : OnFailure::pause;
}

// The common settings have fields of their own; the rest are the node's.
void lower_settings(const FlowNode& node, PlanNode& plan) {
  for (const auto& [name, setting] : node.settings) {
    if (name == "retry")
      plan.retry = static_cast<std::int32_t>(*setting.value.get<std::int64_t>());
    else if (name == "timeout")
      plan.timeout_ms = setting.value.get<Quantity>()->count;
    else if (name == "on_failure")
      plan.on_failure = on_failure_of(setting.value.get<Word>()->name);
    else if (name == "from")
      plan.from = *setting.value.get<std::int64_t>();
    else
      plan.settings.emplace(name, setting.value);
  }
}

PlanNode lower_node(const Pipeline& pipeline, const PlacedPipeline& placed, NodeId id, const Numbers& numbers,
                    Tokenizers& tokenizers) {
  const FlowNode& node = pipeline.node(id);
  PlanNode plan;
  plan.name = node.name;
  plan.op = node.op;
  plan.signature = node.signature->key;
  plan.op_version = node.signature->version;
  for (const NodeInput& input : node.inputs) plan.inputs.push_back(lower_input(input, numbers));
  for (const NodeOutput& output : node.outputs) plan.outputs.push_back({output.name, pipeline.type_of(output)});
  plan.model = renumbered(numbers.models, node.model);
  plan.replica = renumbered(numbers.replicas, node.replica);
  plan.data = renumbered(numbers.data, node.data);
  plan.reward = renumbered(numbers.rewards, node.reward);
  for (ModelId model : node.models) plan.models.push_back(renumbered(numbers.models, model));
  if (node.signature->needs_tokenizer) plan.tokenizer = renumbered(numbers.models, tokenizers.of(id));
  plan.constants = node.constants;
  lower_settings(node, plan);
  plan.free_settings = free_settings(node.signature->settings);
  plan.group = renumbered(numbers.groups, placed.node_groups[id.index()]);
  if (node.block.valid()) {
    const ScheduleBlock& block = pipeline.blocks[node.block.index()];
    plan.schedule = PlanSchedule{block.every, block.at_start};
  }
  plan.span = node.span;
  plan.op_span = node.op_span;
  return plan;
}

}  // namespace

Plan lower(const Pipeline& pipeline, const PlacedPipeline& placed, const Catalog& catalog, const SourceMap& sources,
           const std::vector<ast::File>& files, const std::vector<std::string>& overrides) {
  Plan plan;
  plan.flow = pipeline.flow;
  plan.root = pipeline.root;
  plan.overrides = overrides;
  for (const ast::File& file : files) plan.sources.push_back({sources.file(file.id).path, sources.file(file.id).text});
  Numbers numbers(pipeline);
  for (const auto& [id, number] : numbers.groups) plan.groups.push_back(lower_group(pipeline.groups[id.index()]));
  for (const auto& [id, number] : numbers.models)
    plan.models.push_back(lower_model(pipeline.models[id.index()], numbers));
  for (const auto& [id, number] : numbers.replicas)
    plan.replicas.push_back(lower_replica(pipeline, placed, id, numbers));
  for (const auto& [id, number] : numbers.data) plan.data.push_back(lower_data(pipeline.data[id.index()]));
  for (const auto& [id, number] : numbers.rewards) {
    plan.rewards.push_back(lower_reward(pipeline.rewards[id.index()]));
  }
  Tokenizers tokenizers(pipeline);
  for (const auto& [id, number] : numbers.nodes) {
    plan.nodes.push_back(lower_node(pipeline, placed, id, numbers, tokenizers));
  }
  unroll_refills(plan);
  RLFLOW_CHECK(pipeline.stop_after.has_value(), "a program without errors stops");
  plan.stop_after = *pipeline.stop_after;
  plan.meaning = meaning_of(plan, catalog);
  return plan;
}

}  // namespace rlflow
