// The semantic hash: what of a program its results depend on, in one fixed order.
#include "compiler/lower.h"

namespace rlflow {
namespace {

// Settings that count, by name and canonical value.
void add_settings(Hasher& hasher, const Attributes& values, const std::vector<SettingSpec>& specs) {
  std::int64_t counted = 0;
  Attributes relevant;
  for (const SettingSpec& spec : specs) {
    auto found = values.find(spec.name);
    if (!spec.in_meaning || found == values.end()) continue;
    relevant.insert(*found);
    ++counted;
  }
  hasher.field(counted);
  hasher.field(to_text(relevant));
}

void add_group(Hasher& hasher, const PlanGroup& group) {
  // Which devices does not matter, how many does.
  hasher.field(static_cast<std::int64_t>(group.device)).field(std::int64_t{group.last - group.first});
  hasher.field(std::int64_t{group.threads}).field(std::int64_t{group.tp}).field(std::int64_t{group.dp});
}

void add_model(Hasher& hasher, const PlanModel& model, const Catalog& catalog) {
  hasher.field(model.name).field(model.path).field(std::int64_t{model.random_init});
  hasher.field(static_cast<std::int64_t>(model.init_seed)).field(std::int64_t{model.group.value});
  hasher.field(dtype_name(model.dtype))
      .field(static_cast<std::int64_t>(model.head))
      .field(std::int64_t{model.trainable});
  hasher.field(model.optim ? to_text(Value(*model.optim)) : "");
  add_settings(hasher, model.settings, catalog.model_settings);
  if (model.base_of.valid()) hasher.field("base_of").field(std::int64_t{model.base_of.value});
}

void add_replica(Hasher& hasher, const PlanReplica& replica) {
  hasher.field(replica.name).field(std::int64_t{replica.model.value}).field(std::int64_t{replica.group.value});
  hasher.field(dtype_name(replica.dtype))
      .field(replica.every)
      .field(replica.lag)
      .field(std::int64_t{replica.lag_at_most});
}

void add_source(Hasher& hasher, const std::string& source, const std::string& argument, const Attributes& settings,
                const std::vector<SourceSignature>& known) {
  hasher.field(source).field(argument);
  for (const SourceSignature& signature : known) {
    if (signature.source != source || (source == "builtin" && signature.name != argument)) continue;
    add_settings(hasher, settings, signature.settings);
  }
}

const NodeSignature* signature_of(const PlanNode& node, const Catalog& catalog) {
  for (const NodeSignature& signature : catalog.nodes) {
    if (signature.key == node.signature) return &signature;
  }
  return nullptr;
}

void add_node(Hasher& hasher, const PlanNode& node, const Catalog& catalog) {
  hasher.field(node.name).field(node.signature).field(std::int64_t{node.op_version});
  hasher.field(static_cast<std::int64_t>(node.inputs.size()));
  for (const PlanInput& input : node.inputs) {
    hasher.field(std::int64_t{input.node.value})
        .field(std::int64_t{input.port})
        .field(std::int64_t{input.previous_step});
    hasher.field(double_text(input.init)).field(input.metric);
  }
  for (std::int32_t id : {node.model.value, node.replica.value, node.data.value, node.reward.value,
                          node.tokenizer.value, node.group.value}) {
    hasher.field(std::int64_t{id});
  }
  hasher.field(static_cast<std::int64_t>(node.models.size()));
  for (ModelId model : node.models) hasher.field(std::int64_t{model.value});
  hasher.field(to_text(node.constants));
  if (const NodeSignature* signature = signature_of(node, catalog))
    add_settings(hasher, node.settings, signature->settings);
  hasher.field(node.schedule ? node.schedule->every : std::int64_t{0});
  hasher.field(std::int64_t{node.schedule && node.schedule->at_start});
  hasher.field(node.from).field(static_cast<std::int64_t>(node.on_failure));
}

}  // namespace

Digest meaning_of(const Plan& plan, const Catalog& catalog) {
  Hasher hasher;
  hasher.field("rlflow.meaning/1");
  hasher.field(static_cast<std::int64_t>(plan.groups.size()));
  for (const PlanGroup& group : plan.groups) add_group(hasher, group);
  hasher.field(static_cast<std::int64_t>(plan.models.size()));
  for (const PlanModel& model : plan.models) add_model(hasher, model, catalog);
  hasher.field(static_cast<std::int64_t>(plan.replicas.size()));
  for (const PlanReplica& replica : plan.replicas) add_replica(hasher, replica);
  hasher.field(static_cast<std::int64_t>(plan.data.size()));
  for (const PlanData& data : plan.data) {
    hasher.field(data.name);
    add_source(hasher, data.source, data.argument, data.settings, catalog.data);
  }
  hasher.field(static_cast<std::int64_t>(plan.rewards.size()));
  for (const PlanReward& reward : plan.rewards) {
    hasher.field(reward.name);
    add_source(hasher, reward.source, reward.argument, reward.settings, catalog.rewards);
  }
  hasher.field(static_cast<std::int64_t>(plan.nodes.size()));
  for (const PlanNode& node : plan.nodes) add_node(hasher, node, catalog);
  return hasher.finish();
}

}  // namespace rlflow
