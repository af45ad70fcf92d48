// Plans for the fake nodes, without a compiler.
#include "tests/runtime/fake_plan.h"

#include "runtime/contract/check.h"

namespace rlflow::testing {
namespace {

PlanNode& add(Plan& plan, const std::string& name, const std::string& op, std::vector<Kind> outputs) {
  PlanNode node;
  node.name = name;
  node.op = op;
  node.signature = op;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PlanOutput output;
    output.name = outputs[i] == Kind::cursor ? "" : i == 0 ? name : name + std::to_string(i);
    output.type.kind = outputs[i];
    node.outputs.push_back(output);
  }
  plan.nodes.push_back(node);
  return plan.nodes.back();
}

void feed(PlanNode& node, NodeId source) { node.inputs.push_back({source, 0, false, 0}); }

void read_model(PlanNode& node, ModelId model, GroupId group) {
  node.model = model;
  node.group = group;
}

void add_models(Plan& plan, const PlanShape& shape) {
  plan.groups.push_back({"here", DeviceKind::cpu, 0, 1, 1, 1, 1, {}});
  if (shape.two_groups) plan.groups.push_back({"roll", DeviceKind::cpu, 0, 1, 1, 1, 1, {}});
  PlanModel policy;
  policy.name = "policy";
  policy.group = GroupId(0);
  policy.trainable = true;
  policy.init_seed = 11;
  policy.optim = CallValue{"adamw", {}, {{"lr", Value(0.1)}}};
  plan.models.push_back(policy);
  if (shape.critic) {
    policy.name = "critic";
    policy.init_seed = 77;
    plan.models.push_back(policy);
  }
  PlanReplica sampler;
  sampler.name = "sampler";
  sampler.model = ModelId(0);
  sampler.group = GroupId(shape.two_groups ? 1 : 0);
  sampler.every = shape.sync_every;
  sampler.lag = shape.lag;
  sampler.in_place = shape.lag == 0 && shape.sync_every == 1 && !shape.two_groups && !shape.copy;
  plan.replicas.push_back(sampler);
}

void add_rollout(Plan& plan) {
  add(plan, "batch", "take", {Kind::prompts, Kind::cursor});
  PlanNode& traj = add(plan, "traj", "rollout", {Kind::traj});
  feed(traj, node_named(plan, "batch"));
  read_model(traj, ModelId(0), plan.replicas[0].group);
  traj.replica = ReplicaId(0);
  feed(add(plan, "r", "score", {Kind::reward}), node_named(plan, "traj"));
  PlanNode& old = add(plan, "old", "logprob", {Kind::logp});
  feed(old, node_named(plan, "traj"));
  read_model(old, ModelId(0), GroupId(0));
}

void add_training(Plan& plan, const PlanShape& shape) {
  add(plan, "coef", "adapt_kl", {Kind::scalar});
  PlanNode& gap = add(plan, "gap", "kl_penalty", {Kind::scalar});
  feed(gap, node_named(plan, "old"));
  feed(gap, node_named(plan, "coef"));
  node_of(plan, "coef").inputs = {{node_named(plan, "coef"), 0, true, 0.05}, {node_named(plan, "gap"), 0, true, 0.1}};
  PlanNode& adv = add(plan, "adv", "advantage", {Kind::adv});
  feed(adv, node_named(plan, "r"));
  if (!shape.stream) feed(adv, node_named(plan, "coef"));
  PlanNode& step = add(plan, "step", "update", {Kind::metrics});
  for (const char* source : {"traj", "adv", "old"}) feed(step, node_named(plan, source));
  read_model(step, ModelId(0), GroupId(0));
  step.from = shape.update_from;
  if (!shape.critic) return;
  PlanNode& vstep = add(plan, "vstep", "update", {Kind::metrics});
  for (const char* source : {"traj", "r"}) feed(vstep, node_named(plan, source));
  read_model(vstep, ModelId(1), GroupId(0));
}

void add_blocks(Plan& plan, const PlanShape& shape) {
  PlanNode& acc = add(plan, "acc", "evaluate", {Kind::metrics});
  read_model(acc, ModelId(0), plan.replicas[0].group);
  acc.replica = ReplicaId(0);
  acc.schedule = PlanSchedule{shape.evaluate_every, true};
  if (shape.checkpoint_every == 0) return;
  PlanNode& checkpoint = add(plan, "checkpoint(policy)", "checkpoint", {});
  checkpoint.models = {ModelId(0)};
  checkpoint.schedule = PlanSchedule{shape.checkpoint_every, false};
  checkpoint.settings["keep"] = shape.keep;
}

}  // namespace

NodeId node_named(const Plan& plan, const std::string& name) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].name == name) return NodeId(i);
  }
  check_failed("node_named", __FILE__, __LINE__, name);
}

PlanNode& node_of(Plan& plan, const std::string& name) { return plan.nodes[node_named(plan, name).index()]; }

Plan fake_plan(const PlanShape& shape) {
  Plan plan;
  plan.flow = "fake";
  plan.root = "/";
  plan.sources = {{"fake.rlflow", "rlflow 1\n"}};
  plan.overrides = {"steps=" + std::to_string(shape.steps)};
  plan.stop_after = shape.steps;
  plan.meaning = sha256("fake");
  add_models(plan, shape);
  add_rollout(plan);
  add_training(plan, shape);
  add_blocks(plan, shape);
  if (shape.stream) {
    for (const char* name : {"traj", "r", "adv"}) node_of(plan, name).settings["emit"] = std::string("group");
  }
  return plan;
}

}  // namespace rlflow::testing
