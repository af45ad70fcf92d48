// Rates of a group, seconds of its nodes, and the step they make.
#include "cli/planning/plan_time.h"

#include <algorithm>
#include <map>

namespace rlflow {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// What one dp rank of a group reaches; 0: not known.
struct Rates {
  double flops = 0, bandwidth = 0, link = 0, host = 0;
};

Rates rates_of(const PlanGroup& group, Dtype dtype, const Cluster& cluster) {
  if (group.device == DeviceKind::cpu) {
    return {cluster.flops_a_thread * std::min(group.threads, cluster.cpu_threads), cluster.memory_bandwidth,
            cluster.memory_bandwidth, cluster.memory_bandwidth};
  }
  if (static_cast<std::size_t>(group.last) > cluster.gpus.size()) return {};
  const Gpu& gpu = cluster.gpus[static_cast<std::size_t>(group.first)];
  const double tp = group.tp;
  return {tp * (dtype == Dtype::bf16 ? gpu.flops : gpu.flops_f32), tp * gpu.memory_bandwidth, gpu.link_bandwidth,
          gpu.host_bandwidth};
}

double dense_parameters(const ModelConfig& shape) {
  return real(shape.layer_matrices() + shape.vocab_size * shape.hidden_size);
}

double pass_seconds(const ModelConfig& shape, double tokens, double length, double flops) {
  return tokens * (2 * dense_parameters(shape) + 2 * real(shape.layers * shape.query_size()) * length) / flops;
}

double nominal(std::optional<std::int64_t> most) { return most ? std::max(1.0, real(*most) / 2) : 0; }

double rollout_seconds(const PlanNode& node, const NodeSize& size, const ModelConfig& shape, double dtype_bytes,
                       const Rates& rates) {
  const double rows = std::max(1.0, real(*size.rows) / real(size.ranks));
  const double prompt = nominal(size.prompt), response = nominal(size.response);
  double at_once = rows;
  if (has(node.settings, "budget")) {
    at_once = std::min(rows, std::max(1.0, real(int_at(node.settings, "budget")) / (prompt + response)));
  }
  const double steps = rows * response / at_once;
  return steps * decode_step_seconds(shape, at_once, prompt + response / 2, dtype_bytes, rates.flops, rates.bandwidth) +
         pass_seconds(shape, rows / real(size.samples) * prompt, prompt, rates.flops);
}

double update_seconds(const PlanNode& node, const NodeSize& size, const ModelConfig& shape, double tokens,
                      double length, const Rates& rates, const PlanModel& model) {
  const double epochs = has(node.settings, "epochs") ? real(int_at(node.settings, "epochs")) : 1;
  double steps = epochs;
  if (has(node.settings, "minibatch")) steps *= real(*size.rows) / real(int_at(node.settings, "minibatch"));
  return 3 * epochs * pass_seconds(shape, tokens, length, rates.flops) +
         steps * 28 * real(trained_parameters(model, shape)) / rates.bandwidth;
}

std::optional<double> node_seconds(const Plan& plan, NodeId id, const std::vector<ModelFacts>& models,
                                   const PlanSizes& sizes, const Cluster& cluster) {
  const PlanNode& node = plan.nodes[id.index()];
  const NodeSize& size = sizes.nodes[id.index()];
  const PlanModel& model = plan.models[node.model.index()];
  const auto& shape = models[node.model.index()].shape;
  const Dtype dtype = node.replica.valid() ? plan.replicas[node.replica.index()].dtype : model.dtype;
  const PlanGroup& group = plan.groups[node.group.index()];
  const Rates rates = rates_of(group, dtype, cluster);
  if (!shape || !size.rows || !size.longest() || rates.flops == 0 || rates.bandwidth == 0) return std::nullopt;
  const double d = real(bytes_of(dtype));
  if (has(node.settings, "max_new")) return rollout_seconds(node, size, *shape, d, rates);
  const double length = nominal(size.prompt) + nominal(size.response);
  const double tokens = real(*size.rows) / real(size.ranks) * length;
  if (node.op == "update") return update_seconds(node, size, *shape, tokens, length, rates, model);
  double seconds = pass_seconds(*shape, tokens, length, rates.flops);
  const bool waits = has(model.settings, "offload") && text_at(model.settings, "offload") == "cpu";
  if (waits && group.device == DeviceKind::gpu) {
    if (rates.host == 0) return std::nullopt;
    seconds += real(parameters_of(*shape, model.head)) * d / group.tp / rates.host;
  }
  return seconds;
}

}  // namespace

double decode_step_seconds(const ModelConfig& shape, double sequences, double context, double dtype_bytes, double flops,
                           double bandwidth) {
  const double dense = dense_parameters(shape);
  const double cache = 2 * real(shape.layers * shape.kv_size()) * dtype_bytes;
  const double products = std::max(dtype_bytes * dense / bandwidth, 2 * dense * sequences / flops);
  const double attention = 4 * real(shape.layers * shape.query_size()) * context * sequences / flops;
  return products + std::max(sequences * context * cache / bandwidth, attention);
}

PlanTime time_of(const Plan& plan, const std::vector<ModelFacts>& models, const PlanSizes& sizes,
                 const Cluster& cluster) {
  PlanTime time;
  std::map<GroupId, double> groups;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    std::optional<double> seconds;
    if (node.model.valid() && node.group.valid()) {
      seconds = node_seconds(plan, NodeId(n), models, sizes, cluster);
      const bool always = !node.schedule && node.round == 0;
      if (!seconds && always) time.complete = false;
      if (seconds && always) groups[node.group] += *seconds;
    }
    time.nodes.push_back(seconds);
  }
  time.overlapped = !plan.replicas.empty();
  double moved = 0;
  for (const SyncSize& sync : sizes.syncs) {
    const PlanReplica& replica = plan.replicas[sync.replica.index()];
    const double link = rates_of(plan.groups[replica.group.index()], replica.dtype, cluster).link;
    std::optional<double> seconds;
    if (sync.bytes && (*sync.bytes == 0 || link > 0)) seconds = *sync.bytes == 0 ? 0 : *sync.bytes / link;
    if (!seconds) time.complete = false;
    moved += seconds.value_or(0) / real(replica.every);
    time.syncs.push_back(seconds);
    time.overlapped = time.overlapped && replica.lag > 0;
  }
  if (groups.empty()) return time;
  double whole = 0, longest = 0;
  for (const auto& [group, seconds] : groups) {
    whole += seconds;
    longest = std::max(longest, seconds);
  }
  time.step = (time.overlapped ? longest : whole) + moved;
  return time;
}

}  // namespace rlflow
