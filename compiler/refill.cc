// Copies of the nodes between a take and a filter, and the edges that join their rounds.
#include "compiler/refill.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr std::size_t kTrajectory = 0, kReward = 1;  // inputs of a filter

bool is_edge(const PlanInput& input) { return input.node.valid() && !input.previous_step; }

// What the filter's inputs are made of within a step, in the order of the plan.
std::set<NodeId> chain_of(const Plan& plan, NodeId filter) {
  std::set<NodeId> chain, open{filter};
  while (!open.empty()) {
    const NodeId id = *open.begin();
    open.erase(open.begin());
    for (const PlanInput& input : plan.nodes[id.index()].inputs) {
      if (is_edge(input) && chain.insert(input.node).second) open.insert(input.node);
    }
  }
  return chain;
}

std::int32_t cursor_port(const PlanNode& take) {
  for (std::size_t port = 0; port < take.outputs.size(); ++port) {
    if (take.outputs[port].type.kind == Kind::cursor) return static_cast<std::int32_t>(port);
  }
  return -1;
}

// Nodes stand before `place` from now on; what stood there or later is named by its new number.
void insert(Plan& plan, NodeId place, std::vector<PlanNode> nodes) {
  const auto by = static_cast<std::int32_t>(nodes.size());
  const auto renumber = [&](PlanInput& input) {
    if (input.node.valid() && input.node.value >= place.value) input.node.value += by;
  };
  for (PlanNode& node : plan.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), renumber);
  for (PlanNode& node : nodes) {  // edges of a step are numbered for their place already
    for (PlanInput& input : node.inputs) {
      if (input.previous_step) renumber(input);
    }
  }
  plan.nodes.insert(plan.nodes.begin() + place.value, std::make_move_iterator(nodes.begin()),
                    std::make_move_iterator(nodes.end()));
}

PlanNode missing_node(const PlanNode& filter, std::int32_t round, std::int64_t wanted) {
  PlanNode node;
  node.name = filter.name + ".missing." + std::to_string(round);
  node.op = node.signature = "refill";
  node.outputs = {{"", {Kind::scalar, {}}}};
  node.constants["wanted"] = Value(wanted);
  node.settings["drop"] = value_at(filter.settings, "drop");
  node.from = filter.from;
  node.round = round;
  node.span = filter.span;
  node.op_span = filter.op_span;
  return node;
}

void unroll(Plan& plan, NodeId filter, std::int64_t rounds) {
  const std::set<NodeId> chain = chain_of(plan, filter);
  const auto take =
      std::find_if(chain.begin(), chain.end(), [&](NodeId id) { return cursor_port(plan.nodes[id.index()]) >= 0; });
  RLFLOW_CHECK(take != chain.end(), plan.nodes[filter.index()].name);
  const std::int32_t cursor = cursor_port(plan.nodes[take->index()]);
  const std::int64_t wanted = int_at(plan.nodes[take->index()].constants, "count");
  const PlanInput first_traj = plan.nodes[filter.index()].inputs[kTrajectory];
  const PlanInput first_reward = plan.nodes[filter.index()].inputs[kReward];

  std::vector<PlanNode> added;
  std::vector<PlanInput> rewards{first_reward}, inputs{first_traj, first_reward};
  const auto next = [&] { return NodeId(filter.index() + added.size()); };
  NodeId before = *take;
  for (std::int32_t round = 1; round <= rounds; ++round) {
    const NodeId missing = next();
    added.push_back(missing_node(plan.nodes[filter.index()], round, wanted));
    added.back().inputs = rewards;
    std::map<NodeId, NodeId> copies;
    for (NodeId id : chain) {
      copies[id] = next();
      PlanNode copy = plan.nodes[id.index()];
      copy.name += "." + std::to_string(round);
      copy.round = round;
      for (PlanOutput& output : copy.outputs) {
        if (!output.name.empty()) output.name += "." + std::to_string(round);
      }
      for (PlanInput& input : copy.inputs) {
        if (is_edge(input)) input.node = copies.at(input.node);
      }
      if (id == *take) {
        copy.inputs.push_back({before, cursor, false, 0});
        copy.inputs.push_back({missing, 0, false, 0});
        before = copies[id];
      }
      added.push_back(std::move(copy));
    }
    const auto made = [&](PlanInput input) {
      input.node = copies.at(input.node);
      return input;
    };
    rewards.push_back(made(first_reward));
    inputs.push_back(made(first_traj));
    inputs.push_back(made(first_reward));
  }
  insert(plan, filter, std::move(added));
  const NodeId moved(filter.index() + static_cast<std::size_t>(rounds) * (chain.size() + 1));
  plan.nodes[moved.index()].inputs = std::move(inputs);
  plan.nodes[moved.index()].constants["wanted"] = Value(wanted);
  plan.nodes[take->index()].inputs.push_back({before, cursor, true, 0});
}

}  // namespace

void unroll_refills(Plan& plan) {
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    if (node.op != "filter" || has(node.constants, "wanted")) continue;
    const std::int64_t rounds = int_at(node.settings, "refill");
    if (rounds == 0) continue;
    unroll(plan, NodeId(n), rounds);
  }
}

}  // namespace rlflow
