// Two programs as facts by address.
#include "cli/program_difference.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/adjustable.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

struct Fact {
  std::string text;
  bool free = false;
};
using Facts = std::map<std::string, Fact>;

std::string input_text(const Plan& plan, const PlanInput& input) {
  if (!input.node.valid()) return "-";
  const PlanNode& source = plan.nodes[input.node.index()];
  std::string text = source.name + (input.port > 0 ? "/" + std::to_string(input.port) : "") +
                     (input.metric.empty() ? "" : "." + input.metric);
  return input.previous_step ? "prev(" + text + ", init=" + double_text(input.init) + ")" : text;
}

// What of a node its settings do not say.
std::string node_text(const Plan& plan, const PlanNode& node) {
  std::string text = node.signature + " v" + std::to_string(node.op_version) + " (";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i > 0 ? ", " : "") + input_text(plan, node.inputs[i]);
  text += ")";
  if (node.replica.valid()) text += " reads " + plan.replicas[node.replica.index()].name;
  if (node.model.valid() && !node.replica.valid()) text += " uses " + plan.models[node.model.index()].name;
  if (node.data.valid()) text += " from " + plan.data[node.data.index()].name;
  if (node.reward.valid()) text += " judged by " + plan.rewards[node.reward.index()].name;
  if (node.schedule) text += " every " + std::to_string(node.schedule->every);
  if (node.schedule && node.schedule->at_start) text += " and at start";
  return text;
}

void add_declarations(const Plan& plan, Facts& facts) {
  for (const PlanModel& model : plan.models) {
    facts["model " + model.name].text = (model.random_init ? "init " : "load ") + model.path + " in " +
                                        dtype_name(model.dtype) + " on " + plan.groups[model.group.index()].name;
  }
  for (const PlanReplica& replica : plan.replicas) {
    facts["replica " + replica.name].text = plan.models[replica.model.index()].name + " every " +
                                            std::to_string(replica.every) + " lag " +
                                            (replica.lag_at_most ? "<= " : "") + std::to_string(replica.lag) + " on " +
                                            plan.groups[replica.group.index()].name;
  }
  for (const PlanData& data : plan.data) facts["data " + data.name].text = data.source + " " + data.argument;
  for (const PlanReward& reward : plan.rewards) {
    facts["reward " + reward.name].text = reward.source + " " + reward.argument;
  }
  for (const PlanNode& node : plan.nodes) facts["node " + node.name].text = node_text(plan, node);
}

// Addresses that a resume may change: those that are no part of the meaning.
std::set<std::string> free_addresses(const Plan& plan) {
  std::set<std::string> free = {"stop"};
  for (const PlanNode& node : plan.nodes) {
    for (const std::string& name : node.free_settings) free.insert(node.name + "." + name);
    for (const char* name : {"retry", "timeout"}) free.insert(node.name + "." + name);
  }
  for (const PlanReward& reward : plan.rewards) {
    for (const std::string& name : reward.free_settings) free.insert(reward.name + "." + name);
  }
  return free;
}

Facts facts_of(const Compilation& compilation) {
  static const Catalog kCatalog = catalog();
  Facts facts;
  std::set<std::string> free = free_addresses(*compilation.plan);
  for (const Adjustable& entry : adjustables(compilation.analysis, kCatalog)) {
    facts[entry.address] = {entry.value.value_or("none"), free.contains(entry.address)};
  }
  add_declarations(*compilation.plan, facts);
  return facts;
}

}  // namespace

std::vector<Difference> program_differences(const Compilation& before, const Compilation& after) {
  Facts left = facts_of(before);
  Facts right = facts_of(after);
  std::set<std::string> addresses;
  for (const auto& [address, fact] : left) addresses.insert(address);
  for (const auto& [address, fact] : right) addresses.insert(address);
  std::vector<Difference> differences;
  for (const std::string& address : addresses) {
    if (left[address].text == right[address].text) continue;
    differences.push_back({address, left[address].text, right[address].text, right[address].free});
  }
  return differences;
}

std::string to_text(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& difference : differences) {
    auto shown = [](const std::string& value) { return value.empty() ? std::string("nothing") : value; };
    text += "  " + difference.address + ": " + shown(difference.before) + " -> " + shown(difference.after) + "\n";
  }
  return text;
}

nlohmann::json differences_json(const std::vector<Difference>& differences) {
  nlohmann::json list = nlohmann::json::array();
  for (const Difference& difference : differences) {
    list.push_back({{"address", difference.address},
                    {"before", difference.before},
                    {"after", difference.after},
                    {"free", difference.free}});
  }
  return list;
}

}  // namespace rlflow
