// E0513: the sum against the device, the largest parts, and changes tried one by one.
#include "cli/planning/memory_messages.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>

namespace rlflow {
namespace {

constexpr std::size_t kLabelled = 3;  // parts

// What stands on one device, computed anew for a changed plan.
class WhatIf {
 public:
  WhatIf(const Plan& plan, const std::vector<ModelFacts>& models, const Cluster& cluster, GroupId group)
      : plan_(plan), models_(models), cluster_(cluster), group_(group) {}

  DeviceNeed need(const std::function<void(Plan&)>& change) const {
    Plan changed = plan_;
    change(changed);
    for (DeviceNeed& need : memory_of(changed, models_, sizes_of(changed, models_), cluster_)) {
      if (need.group == group_) return need;
    }
    return {};
  }
  bool fits(const std::function<void(Plan&)>& change) const {
    DeviceNeed after = need(change);
    return after.peak <= static_cast<double>(after.there);
  }
  const Plan& plan() const { return plan_; }

 private:
  const Plan& plan_;
  const std::vector<ModelFacts>& models_;
  const Cluster& cluster_;
  GroupId group_;
};

using Changes = std::vector<std::pair<std::string, std::function<void(Plan&)>>>;

std::function<void(Plan&)> set_tokens(NodeId node, const char* name, std::int64_t tokens) {
  return [node, name, tokens](Plan& plan) {
    plan.nodes[node.index()].settings[name] = Value(Quantity{tokens, Unit::tokens});
  };
}

std::string tokens_text(std::int64_t tokens) {
  return tokens % 1024 == 0 ? std::to_string(tokens / 1024) + "Ki tokens" : std::to_string(tokens) + " tokens";
}

// The largest number of tokens, in steps of 1Ki, that fits; nullopt where not even the longest sequence does.
std::optional<std::int64_t> tokens_that_fit(const WhatIf& what_if, NodeId node, const char* name,
                                            std::int64_t longest) {
  std::int64_t low = (longest + 1023) / 1024;  // what one sequence needs
  std::int64_t high = std::int64_t{1} << 20;   // 1Gi tokens
  if (!what_if.fits(set_tokens(node, name, low * 1024))) return std::nullopt;
  if (what_if.fits(set_tokens(node, name, high * 1024))) return std::nullopt;  // something else is too large
  while (high - low > 1) {
    std::int64_t middle = (low + high) / 2;
    (what_if.fits(set_tokens(node, name, middle * 1024)) ? low : high) = middle;
  }
  return low * 1024;
}

void add_cutting(const WhatIf& what_if, const PlanSizes& sizes, NodeId id, Changes& changes) {
  const PlanNode& node = what_if.plan().nodes[id.index()];
  auto longest = sizes.nodes[id.index()].longest();
  const bool rollout = node.op == "rollout";
  if (!longest || (!rollout && node.op == "evaluate")) return;
  const char* name = rollout ? "budget" : "micro";
  auto tokens = tokens_that_fit(what_if, id, name, *longest);
  if (!tokens || (has(node.settings, name) && *tokens >= int_at(node.settings, name))) return;
  std::string was = has(node.settings, name) ? " instead of " + to_text(value_at(node.settings, name)) : "";
  changes.emplace_back("`" + std::string(name) + " = " + tokens_text(*tokens) + "` for `" + node.name + "`" + was,
                       set_tokens(id, name, *tokens));
}

// Changes of whole models and groups: each may suffice or not.
Changes structural(const Plan& plan, GroupId id) {
  Changes changes;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const PlanModel& model = plan.models[m];
    bool waits = has(model.settings, "offload") && text_at(model.settings, "offload") == "cpu";
    if (model.trainable || model.group != id || waits) continue;
    changes.emplace_back("`offload = cpu` for `" + model.name + "`",
                         [m](Plan& changed) { changed.models[m].settings["offload"] = Value(Word{"cpu"}); });
  }
  const PlanGroup& group = plan.groups[id.index()];
  const std::int32_t devices = group.last - group.first;
  for (std::int32_t tp = group.tp * 2; tp <= devices && devices % tp == 0; tp *= 2) {
    changes.emplace_back("`tp = " + std::to_string(tp) + "` for `" + group.name + "`",
                         [id, tp, devices](Plan& changed) {
                           changed.groups[id.index()].tp = tp;
                           changed.groups[id.index()].dp = devices / tp;
                         });
  }
  return changes;
}

// Helps that suffice alone; else everything together with what would remain.
void add_helps(const WhatIf& what_if, const PlanSizes& sizes, const DeviceNeed& need, Diagnostic& message) {
  Changes changes = need.group.valid() ? structural(what_if.plan(), need.group) : Changes();
  bool enough = false;
  std::function<void(Plan&)> all = [](Plan&) {};
  for (const auto& [text, change] : changes) {
    DeviceNeed after = what_if.need(change);
    if (after.peak >= need.peak) continue;
    all = [first = all, second = change](Plan& plan) { first(plan), second(plan); };
    if (enough || after.peak > static_cast<double>(after.there)) continue;
    message.help(text + ": " + bytes_text(after.peak));
    enough = true;
  }
  Changes cuts;
  for (NodeId task : need.largest) add_cutting(what_if, sizes, task, cuts);
  for (const auto& [text, change] : cuts) {
    message.help(text + ": " + bytes_text(what_if.need(change).peak));
    enough = true;
  }
  if (enough) return;
  double least = what_if.need(all).peak;
  for (const auto& [text, change] : changes) {
    double after = what_if.need(change).peak;
    if (after < need.peak) message.note(text + " would leave " + bytes_text(after));
  }
  message.help(least <= static_cast<double>(need.there)
                   ? "together these changes need " + bytes_text(least)
                   : "use larger or more devices, or a smaller model" +
                         (least < need.peak ? ": all these changes still need " + bytes_text(least) : std::string()));
}

template <class Declared>
Span place_of(const std::vector<Declared>& list, const std::string& name, Span Declared::*place) {
  for (const Declared& declared : list) {
    if (declared.name == name) return declared.*place;
  }
  return {};
}

std::vector<const MemoryPart*> largest_parts(const DeviceNeed& need) {
  std::vector<const MemoryPart*> parts;
  for (const MemoryPart& part : need.parts) {
    bool counts = !part.task.valid() || std::count(need.largest.begin(), need.largest.end(), part.task) > 0;
    if (part.bytes && counts && (part.task.valid() || part.model.valid())) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return *a->bytes > *b->bytes; });
  parts.resize(std::min(parts.size(), kLabelled));
  return parts;
}

void label_parts(const Plan& plan, const Pipeline& pipeline, const DeviceNeed& need, Diagnostic& message) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Span, std::string>> labels;  // one a place
  for (const MemoryPart* part : largest_parts(need)) {
    Span place;
    if (part->task.valid()) {
      place = place_of(pipeline.nodes, plan.nodes[part->task.index()].name, &FlowNode::callee_span);
    } else if (part->replica.valid()) {
      place = place_of(pipeline.replicas, plan.replicas[part->replica.index()].name, &Replica::name_span);
    } else {
      place = place_of(pipeline.models, plan.models[part->model.index()].name, &Model::name_span);
    }
    auto& [span, text] = labels[{static_cast<std::uint32_t>(place.file.value), place.begin}];
    span = place;
    text += (text.empty() ? "" : ", ") + std::string(part_name(part->kind)) + " " + bytes_text(*part->bytes);
  }
  for (const auto& [key, label] : labels) message.at(label.first, label.second);
}

std::string sum_text(const Plan& plan, const DeviceNeed& need) {
  std::string text = bytes_text(need.always) + " held always";
  for (NodeId task : need.largest) {
    double bytes = 0;
    for (const MemoryPart& part : need.parts) bytes += part.task == task ? part.bytes.value_or(0) : 0;
    text += " + " + bytes_text(bytes) + " while `" + plan.nodes[task.index()].name + "` runs";
  }
  return text + " = " + bytes_text(need.peak) + (need.complete ? "" : ", without the models that are not known");
}

void refuse(const Plan& plan, const Pipeline& pipeline, const std::vector<ModelFacts>& models, const Cluster& cluster,
            const DeviceNeed& need, Diagnostics& diagnostics) {
  std::string whose = "the host";
  Span place = pipeline.flow_span;
  if (need.group.valid()) {
    whose = "each GPU of `" + plan.groups[need.group.index()].name + "`";
    place = place_of(pipeline.groups, plan.groups[need.group.index()].name, &Group::devices_span);
  }
  const double there = static_cast<double>(need.there);
  Diagnostic& message =
      diagnostics.error("E0513", place, whose + " needs " + bytes_text(need.peak) + " and has " + bytes_text(there));
  message.value("needed", static_cast<std::int64_t>(need.peak)).value("there", static_cast<std::int64_t>(need.there));
  message.label(bytes_text(need.peak - there) + " too much");
  label_parts(plan, pipeline, need, message);
  message.note(sum_text(plan, need));
  add_helps(WhatIf(plan, models, cluster, need.group), sizes_of(plan, models), need, message);
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10 && unit > 0 ? "%.1f" : "%.0f", bytes);
  return std::string(text) + " " + kUnits[unit];
}

void check_memory(const Plan& plan, const Pipeline& pipeline, const std::vector<ModelFacts>& models,
                  const Cluster& cluster, Diagnostics& diagnostics) {
  for (const DeviceNeed& need : memory_of(plan, models, sizes_of(plan, models), cluster)) {
    if (need.there > 0 && need.peak > static_cast<double>(need.there)) {
      refuse(plan, pipeline, models, cluster, need, diagnostics);
    }
  }
}

}  // namespace rlflow
