// The parts of a device's memory, and their sum at the largest task.
#include "cli/planning/plan_memory.h"

#include <algorithm>
#include <map>

namespace rlflow {
namespace {

constexpr double kGpuReserve = 1024.0 * 1024 * 1024;
constexpr std::int64_t kLogitRows = 1024;    // rows of logits at once
constexpr std::int64_t kCpuChunkRows = 512;  // as nodes/model/passes.h cuts where `micro` is absent
constexpr std::int64_t kCpuLanes = 4;        // as nodes/model/cpu_passes.cc shares chunks out
constexpr std::int64_t kManyParameters = 16 << 20;

double real(std::int64_t n) { return static_cast<double>(n); }

std::int64_t training_lanes(std::int64_t parameters) { return parameters <= kManyParameters ? kCpuLanes : 1; }

std::string word_of(const Attributes& settings, const char* name) {
  return has(settings, name) ? text_at(settings, name) : "";
}

class Memory {
 public:
  Memory(const Plan& plan, const std::vector<ModelFacts>& models, const PlanSizes& sizes)
      : plan_(plan), models_(models), sizes_(sizes) {}

  std::vector<MemoryPart> parts() {
    for (std::size_t m = 0; m < plan_.models.size(); ++m) add_model(ModelId(m));
    for (std::size_t r = 0; r < plan_.replicas.size(); ++r) add_replica(ReplicaId(r));
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) add_task(NodeId(n));
    return std::move(parts_);
  }

 private:
  const PlanGroup& group(GroupId id) const { return plan_.groups[id.index()]; }
  bool on_cpu(GroupId id) const { return group(id).device == DeviceKind::cpu; }

  void add(PartKind kind, ModelId model, GroupId where, std::optional<double> bytes, NodeId task = {},
           ReplicaId replica = {}) {
    if (bytes && *bytes == 0) return;
    parts_.push_back({kind, model, replica, task, where, bytes});
  }

  void add_model(ModelId id) {
    const PlanModel& model = plan_.models[id.index()];
    const bool cpu = on_cpu(model.group);
    const bool waits = word_of(model.settings, "offload") == "cpu" && !cpu;
    const auto& shape = models_[id.index()].shape;
    if (!shape) return add(waits ? PartKind::offloaded : PartKind::weights, id, waits ? GroupId() : model.group, {});
    const double tp = group(model.group).tp;
    const std::int64_t parameters = parameters_of(*shape, model.head);
    const double weights = real(parameters * stored_bytes(model.group, model.dtype));
    if (shares_base(model)) {
      const PlanModel& adapted = plan_.models[model.base_of.index()];
      return add(PartKind::weights, id, model.group, cpu ? 4 * real(adapted_matrices(adapted, *shape)) : 0);
    }
    if (waits) {
      add(PartKind::offloaded, id, {}, weights);
    } else {
      add(PartKind::weights, id, model.group, (weights + panels(model.group, *shape) + merged(model, *shape)) / tp);
    }
    if (!model.trainable) return;
    const double trained = real(trained_parameters(model, *shape));
    if (lora_of(model) != nullptr) add(PartKind::adapters, id, model.group, (cpu ? 8 : 4) * trained);
    const double lanes = cpu ? real(training_lanes(parameters)) : 1;
    add(PartKind::gradients, id, model.group, 4 * trained * lanes / tp);
    add(PartKind::moments, id, model.group, 8 * trained / tp);
    if (model.dtype == Dtype::bf16 && lora_of(model) == nullptr) {
      add(PartKind::master, id, model.group, (cpu ? 4 : 2) * trained / tp);
    }
  }

  // Bytes of a parameter in memory: the CPU computes with rounded numbers that it holds as f32.
  std::int64_t stored_bytes(GroupId where, Dtype dtype) const { return on_cpu(where) ? 4 : bytes_of(dtype); }
  // The matrices in the order that the CPU's products read.
  double panels(GroupId where, const ModelConfig& shape) const {
    return on_cpu(where) ? 4 * real(shape.layer_matrices() + shape.vocab_size * shape.hidden_size) : 0;
  }
  // The sums of base and adapters, beside the base; the CPU has them among its panels.
  double merged(const PlanModel& model, const ModelConfig& shape) const {
    return on_cpu(model.group) ? 0 : real(adapted_matrices(model, shape) * bytes_of(model.dtype));
  }
  // The base of a model on the same group is that model's memory.
  bool shares_base(const PlanModel& model) const {
    return model.base_of.valid() && plan_.models[model.base_of.index()].group == model.group;
  }

  void add_replica(ReplicaId id) {
    const PlanReplica& replica = plan_.replicas[id.index()];
    if (replica.in_place) return;
    const PlanModel& model = plan_.models[replica.model.index()];
    const auto& shape = models_[replica.model.index()].shape;
    std::optional<double> bytes;
    // On the CPU a copy of adapters shares their base and merges for itself.
    if (shape && on_cpu(replica.group) && lora_of(model) != nullptr && replica.dtype == model.dtype) {
      bytes = 8 * real(trained_parameters(model, *shape)) + 4 * real(adapted_matrices(model, *shape));
    } else if (shape) {
      bytes = (real(parameters_of(*shape, model.head) * stored_bytes(replica.group, replica.dtype)) +
               panels(replica.group, *shape)) /
              group(replica.group).tp;
    }
    add(PartKind::replica, replica.model, replica.group, bytes, {}, id);
  }

  void add_task(NodeId id) {
    const PlanNode& node = plan_.nodes[id.index()];
    if (!node.model.valid() || !node.group.valid()) return;
    const PlanModel& model = plan_.models[node.model.index()];
    const auto& shape = models_[node.model.index()].shape;
    const bool generates = has(node.settings, "max_new");
    if (!shape) return add(generates ? PartKind::kv_cache : PartKind::activations, node.model, node.group, {}, id);
    if (!node.replica.valid() && word_of(model.settings, "offload") == "cpu" && !on_cpu(node.group)) {
      add(PartKind::weights, node.model, node.group,
          real(parameters_of(*shape, model.head) * bytes_of(model.dtype)) / group(node.group).tp, id);
    }
    if (generates) {
      add(PartKind::kv_cache, node.model, node.group, cache_bytes(id, *shape), id);
    } else {
      add(PartKind::activations, node.model, node.group, activation_bytes(id, *shape), id);
    }
  }

  // The tokens of the cache on one rank.
  std::optional<double> cached_tokens(NodeId id) const {
    const PlanNode& node = plan_.nodes[id.index()];
    if (has(node.settings, "budget")) return real(int_at(node.settings, "budget"));
    // An evaluation has the cache of the rollout of its replica.
    for (const PlanNode& other : plan_.nodes) {
      if (node.op == "evaluate" && other.replica == node.replica && has(other.settings, "budget")) {
        return real(int_at(other.settings, "budget"));
      }
    }
    const NodeSize& size = sizes_.nodes[id.index()];
    if (!size.rows || !size.prompt || !size.response) return std::nullopt;
    const double rows = real((*size.rows + size.ranks - 1) / size.ranks);
    return rows * real(*size.response) + rows / real(size.samples) * real(*size.prompt);
  }

  std::optional<double> cache_bytes(NodeId id, const ModelConfig& shape) const {
    const PlanNode& node = plan_.nodes[id.index()];
    auto tokens = cached_tokens(id);
    if (!tokens) return std::nullopt;
    const Dtype dtype =
        node.replica.valid() ? plan_.replicas[node.replica.index()].dtype : plan_.models[node.model.index()].dtype;
    const double tp = std::min<double>(group(node.group).tp, real(shape.kv_heads));  // a head is not cut
    return *tokens * real(shape.layers * 2 * shape.kv_size() * stored_bytes(node.group, dtype)) / tp;
  }

  // Tokens of one pass on one rank.
  std::optional<double> pass_tokens(NodeId id) const {
    const PlanNode& node = plan_.nodes[id.index()];
    const NodeSize& size = sizes_.nodes[id.index()];
    const auto longest = size.longest();
    const Value* micro = has(node.settings, "micro") ? &value_at(node.settings, "micro") : nullptr;
    const Quantity* given = micro != nullptr ? micro->get<Quantity>() : nullptr;
    if (given != nullptr && given->unit == Unit::tokens) return real(given->count);
    if (!longest) return std::nullopt;
    if (given != nullptr) return real(given->count * *longest);
    if (on_cpu(node.group)) return real(std::max(kCpuChunkRows, *longest));
    auto rows = size.rows;
    if (has(node.settings, "minibatch")) rows = int_at(node.settings, "minibatch");
    if (!rows) return std::nullopt;
    return real((*rows + size.ranks - 1) / size.ranks * *longest);
  }

  std::optional<double> activation_bytes(NodeId id, const ModelConfig& shape) const {
    const PlanNode& node = plan_.nodes[id.index()];
    const PlanModel& model = plan_.models[node.model.index()];
    auto tokens = pass_tokens(id);
    if (!tokens) return std::nullopt;
    const double d = real(stored_bytes(node.group, model.dtype)), tp = group(node.group).tp,
                 layers = real(shape.layers);
    const double h = real(shape.hidden_size), q = real(shape.query_size()), kv = real(shape.kv_size());
    const double f = real(shape.intermediate_size);
    const double head =
        model.head == Head::lm ? std::min(*tokens, real(kLogitRows)) * real(shape.vocab_size) * 4 / tp : 0;
    const std::int64_t parameters = parameters_of(shape, model.head);
    if (node.op != "update") {
      const double lanes = on_cpu(node.group) ? real(kCpuLanes) : 1;
      return lanes * (*tokens * (4 * h + (2 * q + 2 * kv + 3 * f) / tp) * d + head);
    }
    const double lanes = on_cpu(node.group) ? real(training_lanes(parameters)) : 1;
    const double layer = (2 * h + (2 * q + 2 * kv + 2 * f) / tp) * d + 4 * real(shape.heads) / tp;
    const bool again = has(node.settings, "recompute") && bool_at(node.settings, "recompute");
    const double kept = again ? layer + (layers - 1) * h * d : layers * layer;
    return lanes * (*tokens * (kept + (4 * h + 2 * f / tp) * d) + 2 * head);
  }

  const Plan& plan_;
  const std::vector<ModelFacts>& models_;
  const PlanSizes& sizes_;
  std::vector<MemoryPart> parts_;
};

void sum(DeviceNeed& need) {
  std::map<GroupId, std::map<NodeId, double>> tasks;
  for (const MemoryPart& part : need.parts) {
    if (!part.bytes) {
      need.complete = false;
    } else if (part.task.valid()) {
      tasks[part.group][part.task] += *part.bytes;
    } else {
      need.always += *part.bytes;
    }
  }
  need.peak = need.always;
  for (const auto& [group, sums] : tasks) {
    auto most = std::max_element(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.second < b.second; });
    need.peak += most->second;
    need.largest.push_back(most->first);
  }
}

double outputs_held(const PlanSizes& sizes) {
  double bytes = 0;
  for (const EdgeSize& edge : sizes.edges) bytes += edge.bytes.most.value_or(0);
  return bytes * real(sizes.steps_in_flight);
}

}  // namespace

const char* part_name(PartKind kind) {
  switch (kind) {
    case PartKind::weights: return "weights";
    case PartKind::gradients: return "gradients";
    case PartKind::adapters: return "adapters";
    case PartKind::moments: return "optimizer moments";
    case PartKind::master: return "master copy";
    case PartKind::replica: return "copy of the weights";
    case PartKind::offloaded: return "offloaded weights";
    case PartKind::kv_cache: return "KV cache";
    case PartKind::activations: return "activations";
    case PartKind::outputs: return "outputs of the steps in flight";
    case PartKind::reserve: return "context and libraries";
  }
  return "?";
}

std::vector<DeviceNeed> memory_of(const Plan& plan, const std::vector<ModelFacts>& models, const PlanSizes& sizes,
                                  const Cluster& cluster) {
  std::vector<DeviceNeed> needs;
  std::vector<MemoryPart> parts = Memory(plan, models, sizes).parts();
  DeviceNeed host;
  host.there = cluster.memory_bytes;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const PlanGroup& group = plan.groups[g];
    DeviceNeed gpu;
    gpu.group = GroupId(g);
    DeviceNeed& need = group.device == DeviceKind::cpu ? host : gpu;
    for (const MemoryPart& part : parts) {
      if (part.group == GroupId(g)) need.parts.push_back(part);
    }
    if (group.device == DeviceKind::cpu) continue;
    need.parts.push_back({PartKind::reserve, {}, {}, {}, GroupId(g), kGpuReserve});
    for (std::int32_t d = group.first; d < group.last && static_cast<std::size_t>(d) < cluster.gpus.size(); ++d) {
      std::uint64_t there = cluster.gpus[static_cast<std::size_t>(d)].memory_bytes;
      need.there = need.there == 0 ? there : std::min(need.there, there);
    }
    needs.push_back(std::move(need));
  }
  for (const MemoryPart& part : parts) {
    if (!part.group.valid()) host.parts.push_back(part);
  }
  host.parts.push_back({PartKind::outputs, {}, {}, {}, {}, outputs_held(sizes)});
  needs.push_back(std::move(host));
  for (DeviceNeed& need : needs) sum(need);
  return needs;
}

}  // namespace rlflow
