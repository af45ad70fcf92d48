// One section a question: batches, bytes, memory, time.
#include "cli/planning/plan_text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "cli/planning/memory_messages.h"
#include "cli/table.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

constexpr std::size_t kWidth = 100;
constexpr const char* kUnknown = "unknown";

std::string bytes_or_unknown(const std::optional<double>& bytes) { return bytes ? bytes_text(*bytes) : kUnknown; }

std::string at_most(const std::optional<std::int64_t>& tokens) {
  return tokens ? "at most " + with_commas(*tokens) : "an unknown number of";
}

std::string rollout_text(const PlanNode& node, const NodeSize& size) {
  std::string text = with_commas(*size.rows / size.samples) + " prompts x " + counted(size.samples, "sample") + " = " +
                     with_commas(*size.rows) + " responses over all ranks; a prompt has " + at_most(size.prompt) +
                     " tokens, a response " + at_most(size.response) + "; ";
  text +=
      "dp " + std::to_string(size.ranks) + ": " + with_commas((*size.rows + size.ranks - 1) / size.ranks) + " a rank";
  if (has(node.settings, "budget") && size.longest()) {
    std::int64_t budget = int_at(node.settings, "budget");
    text += ", whose budget of " + with_commas(budget) + " tokens holds " +
            with_commas(std::max<std::int64_t>(1, budget / *size.longest())) + " of the longest at once";
  }
  return text;
}

std::string update_text(const PlanNode& node, const Cutting& cut) {
  std::string text = with_commas(cut.batch) + " sequences / " + with_commas(cut.minibatch) + " a minibatch x " +
                     counted(cut.epochs, "epoch") + " = " + counted(cut.optimizer_steps, "optimizer step") + "; dp " +
                     std::to_string(cut.ranks) + ": " + with_commas(cut.rows_a_rank) + " a rank and minibatch, " +
                     at_most(cut.tokens_a_rank) + " tokens";
  if (cut.micro_batches) {
    text += ", in at most " + with_commas(*cut.micro_batches) + " micro-batches of " +
            with_commas(int_at(node.settings, "micro")) + " tokens";
  }
  return text;
}

std::string batches(const Plan& plan, const PlanFigures& figures) {
  Table table;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    const NodeSize& size = figures.sizes.nodes[n];
    if (node.op == "rollout" && size.rows && node.round == 0)
      table.rows.push_back({node.name, rollout_text(node, size)});
    if (auto cut = cutting_of(node, size)) table.rows.push_back({node.name, update_text(node, *cut)});
  }
  return table.rows.empty() ? "" : "batches\n" + to_text(table, 2, kWidth) + "\n";
}

std::string readers_text(const Plan& plan, const EdgeSize& edge) {
  std::set<std::string> names;
  for (NodeId reader : edge.readers) names.insert(plan.nodes[reader.index()].name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text + (edge.between_groups ? " (to another group)" : "");
}

std::string moved(const Plan& plan, const PlanFigures& figures) {
  Table table{{"output", "type", "nominal", "at most", "to"}, {}, {false, false, true, true, false}};
  double held = 0;
  for (const EdgeSize& edge : figures.sizes.edges) {
    const PlanOutput& output = plan.nodes[edge.from.index()].outputs[static_cast<std::size_t>(edge.port)];
    held += edge.bytes.most.value_or(0);
    table.rows.push_back({output.name, to_text(output.type), bytes_or_unknown(edge.bytes.nominal),
                          bytes_or_unknown(edge.bytes.most), readers_text(plan, edge)});
  }
  for (const SyncSize& sync : figures.sizes.syncs) {
    const PlanReplica& replica = plan.replicas[sync.replica.index()];
    std::string bytes = bytes_or_unknown(sync.bytes);
    table.rows.push_back({plan.models[replica.model.index()].name, "weights", bytes, bytes,
                          replica.name + (replica.in_place ? ", in place" : ", a copy") + ", every " +
                              counted(replica.every, "step") + ", lag " + (replica.lag_at_most ? "at most " : "") +
                              std::to_string(replica.lag)});
  }
  std::string text = "bytes of a step (nominal: lengths half of their bounds)\n" + to_text(table, 2, kWidth);
  const std::int64_t flight = figures.sizes.steps_in_flight;
  return text + "  queues hold the outputs of at most " + counted(flight, "step") +
         " in flight: " + bytes_text(held * static_cast<double>(flight)) + "\n\n";
}

std::string part_owner(const Plan& plan, const MemoryPart& part) {
  if (part.replica.valid()) return plan.replicas[part.replica.index()].name;
  return part.model.valid() ? plan.models[part.model.index()].name : "";
}

std::string device_memory(const Plan& plan, const DeviceNeed& need) {
  Table table{{}, {}, {false, false, true, false}};
  for (const MemoryPart& part : need.parts) {
    std::string when = part.task.valid() ? "while " + plan.nodes[part.task.index()].name : "always";
    std::string owner = part_owner(plan, part);
    bool largest = std::count(need.largest.begin(), need.largest.end(), part.task) > 0;
    table.rows.push_back({std::string(part_name(part.kind)) + (owner.empty() ? "" : " of " + owner), when,
                          bytes_or_unknown(part.bytes), largest ? "largest task" : ""});
  }
  std::string head = "memory of the host";
  if (need.group.valid()) {
    const PlanGroup& group = plan.groups[need.group.index()];
    head = "memory of each GPU of " + group.name + " (" + devices_text(group) + ", tp " + std::to_string(group.tp) +
           ", dp " + std::to_string(group.dp) + ")";
  }
  head += std::string(": ") + (need.complete ? "" : "more than ") + bytes_text(need.peak);
  head += need.there > 0 ? " of " + bytes_text(static_cast<double>(need.there)) : std::string();
  return head + "\n" + to_text(table, 2, kWidth) + "\n";
}

// Why figures are unknown: one line a reason, with all the models that it is the reason of.
std::string unknown_models(const Plan& plan, const PlanFigures& figures) {
  std::map<std::string, std::vector<std::string>> unknown;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    if (!figures.models[m].shape) unknown[figures.models[m].unknown_because].push_back(plan.models[m].name);
  }
  std::string text;
  for (const auto& [reason, models] : unknown) {
    const std::string line = "memory and time of " + quoted_list(models, "and") + " are not known: " + reason;
    for (const std::string& part : wrapped(line, kWidth)) text += part + "\n";
  }
  return text.empty() ? "" : text + "\n";
}

std::string seconds(const Plan& plan, const PlanFigures& figures) {
  Table table{{}, {}, {false, true, false}};
  const PlanTime& time = figures.time;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    if (!node.model.valid() || !node.group.valid()) continue;
    std::string when = node.round > 0  ? "a refill of all prompts, not in the sum"
                       : node.schedule ? "every " + counted(node.schedule->every, "step") + ", not in the sum"
                                       : "";
    table.rows.push_back({node.name, time.nodes[n] ? seconds_text(*time.nodes[n]) : kUnknown, when});
  }
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    table.rows.push_back(
        {"sync " + plan.replicas[r].name, time.syncs[r] ? seconds_text(*time.syncs[r]) : kUnknown, ""});
  }
  std::string whole = time.step ? seconds_text(*time.step) : kUnknown;
  table.rows.push_back({"a step", (time.complete || !time.step ? "" : "more than ") + whole,
                        time.overlapped ? "groups side by side" : "one after the other"});
  return "time, estimated: a floor, reached where programs reach the machine's rates\n" + to_text(table, 2, kWidth);
}

}  // namespace

PlanFigures figures_of(const Plan& plan, const Cluster& cluster) {
  PlanFigures figures;
  figures.models = read_model_facts(plan);
  figures.sizes = sizes_of(plan, figures.models);
  figures.memory = memory_of(plan, figures.models, figures.sizes, cluster);
  figures.time = time_of(plan, figures.models, figures.sizes, cluster);
  return figures;
}

std::optional<Cutting> cutting_of(const PlanNode& node, const NodeSize& size) {
  if (node.op != "update" || !size.rows) return std::nullopt;
  Cutting cut;
  cut.batch = *size.rows;
  cut.minibatch = has(node.settings, "minibatch") ? int_at(node.settings, "minibatch") : cut.batch;
  cut.epochs = has(node.settings, "epochs") ? int_at(node.settings, "epochs") : 1;
  cut.optimizer_steps = cut.epochs * ((cut.batch + cut.minibatch - 1) / cut.minibatch);
  cut.ranks = size.ranks;
  cut.rows_a_rank = (cut.minibatch + cut.ranks - 1) / cut.ranks;
  auto longest = size.longest();
  if (!longest) return cut;
  cut.tokens_a_rank = cut.rows_a_rank * *longest;
  if (has(node.settings, "micro")) {
    std::int64_t together = std::max<std::int64_t>(1, int_at(node.settings, "micro") / *longest);
    cut.micro_batches = (cut.rows_a_rank + together - 1) / together;
  }
  return cut;
}

std::string devices_text(const PlanGroup& group) {
  if (group.device == DeviceKind::cpu) return "cpu";
  return "gpu[" + std::to_string(group.first) + ".." + std::to_string(group.last) + "]";
}

std::string seconds_text(double seconds) {
  char text[32];
  if (seconds == 0) return "0 s";
  if (seconds < 0.1)
    std::snprintf(text, sizeof text, "%.2g ms", seconds * 1000);
  else
    std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

std::string machine_text(const Machine& machine) {
  const Cluster& cluster = machine.cluster;
  std::string text = "machine: " + cluster.name + " (" + machine.origin +
                     "): " + counted(cluster.cpu_threads, "thread") + ", " +
                     bytes_text(static_cast<double>(cluster.memory_bytes)) + "; ";
  text += cluster.gpus.empty() ? "no GPU"
                               : std::to_string(cluster.gpus.size()) + " x " + cluster.gpus[0].name + " with " +
                                     bytes_text(static_cast<double>(cluster.gpus[0].memory_bytes));
  std::string lines;
  for (const std::string& line : wrapped(text, kWidth)) lines += line + "\n";
  for (const std::string& source : machine.rate_sources) {
    for (const std::string& line : wrapped("default rates of " + source, kWidth - 2)) lines += "  " + line + "\n";
  }
  return lines;
}

std::string figures_text(const Plan& plan, const PlanFigures& figures) {
  std::string text = batches(plan, figures) + moved(plan, figures);
  for (const DeviceNeed& need : figures.memory) text += device_memory(plan, need);
  return text + unknown_models(plan, figures) + seconds(plan, figures);
}

}  // namespace rlflow
