// Sizes follow the edges: a take fixes rows and prompts, a rollout multiplies rows and adds responses.
#include "cli/planning/plan_sizes.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

namespace rlflow {
namespace {

// Most tokens of a prompt of this data.
std::optional<std::int64_t> prompt_bound(const PlanData& data) {
  if (has(data.settings, "max_prompt")) return int_at(data.settings, "max_prompt");
  const Range* digits = has(data.settings, "digits") ? value_at(data.settings, "digits").get<Range>() : nullptr;
  const bool bare = !has(data.settings, "question") && !has(data.settings, "prefill") &&
                    (!has(data.settings, "template") || text_at(data.settings, "template") == "none");
  // Begin, two numbers, `+` and `=`; no tokenizer makes more tokens than characters.
  if (data.source == "builtin" && data.argument == "addition" && digits != nullptr && bare) {
    return 2 * static_cast<std::int64_t>(digits->hi) + 3;
  }
  return std::nullopt;
}

std::optional<std::int64_t> positions_of(const PlanNode& node, const std::vector<ModelFacts>& models) {
  ModelId id = node.model.valid() ? node.model : node.tokenizer;
  if (!id.valid() || !models[id.index()].shape) return std::nullopt;
  return models[id.index()].shape->max_positions;
}

class Sizes {
 public:
  Sizes(const Plan& plan, const std::vector<ModelFacts>& models) : plan_(plan), models_(models) {}

  NodeSize size(const PlanNode& node, const std::vector<NodeSize>& before) const {
    NodeSize size;
    for (const PlanInput& input : node.inputs) {
      if (!input.node.valid() || input.previous_step) continue;
      size = before[input.node.index()];
      break;
    }
    if (node.group.valid()) size.ranks = plan_.groups[node.group.index()].dp;
    if (node.data.valid()) read(node, size);
    if (has(node.constants, "n")) sample(size, int_at(node.constants, "n"));
    if (has(node.settings, "n")) sample(size, int_at(node.settings, "n"));
    if (has(node.settings, "max_new")) size.response = int_at(node.settings, "max_new");
    bool generates = has(node.settings, "max_new");
    if (generates && !size.prompt) {
      if (auto positions = positions_of(node, models_))
        size.prompt = std::max<std::int64_t>(1, *positions - *size.response);
    }
    if (!generates && !size.longest()) size.response = positions_of(node, models_);  // whole rows, as examples are
    return size;
  }

 private:
  void read(const PlanNode& node, NodeSize& size) const {
    const PlanData& data = plan_.data[node.data.index()];
    size = {};
    if (node.group.valid()) size.ranks = plan_.groups[node.group.index()].dp;
    if (has(node.constants, "count")) size.rows = int_at(node.constants, "count");
    if (!size.rows && has(data.settings, "size")) size.rows = int_at(data.settings, "size");
    if (node.outputs.empty() || node.outputs[0].type.kind == Kind::prompts || node.op == "evaluate") {
      size.prompt = prompt_bound(data);
    }
  }
  static void sample(NodeSize& size, std::int64_t n) {
    size.samples = n;
    if (size.rows) *size.rows *= n;
  }

  const Plan& plan_;
  const std::vector<ModelFacts>& models_;
};

// Bytes of one output whose prompts and responses have `prompt` and `response` tokens.
std::optional<double> payload_bytes(Kind kind, bool per_token, const NodeSize& size, double share) {
  if (kind == Kind::scalar || kind == Kind::cursor || kind == Kind::metrics) return 16;
  if (!size.rows) return std::nullopt;
  const auto rows = static_cast<double>(*size.rows);
  auto tokens = [&](const std::optional<std::int64_t>& most) -> std::optional<double> {
    if (!most) return std::nullopt;
    return rows * std::max(1.0, share * static_cast<double>(*most));
  };
  if (kind == Kind::prompts) {
    auto n = tokens(size.prompt);
    return n ? std::optional(4 * *n + 16 * rows) : std::nullopt;
  }
  auto n = tokens(size.response);
  switch (kind) {
    case Kind::traj: return n ? std::optional(9 * *n + 13 * rows) : std::nullopt;
    case Kind::examples: return n ? std::optional(5 * *n + 16 * rows) : std::nullopt;
    case Kind::pairs: return n ? std::optional(2 * (5 * *n + 16 * rows)) : std::nullopt;
    default: break;
  }
  if (!per_token) return 4 * rows;
  return n ? std::optional(4 * *n) : std::nullopt;
}

// A linear layer that adapters are added to, and the matrix of the passes that it is a part of.
struct Target {
  std::int64_t outputs, inputs;
  std::string matrix;
  std::int64_t matrix_entries;
};

std::vector<Target> targets_of(const CallValue& lora, const ModelConfig& shape) {
  const std::int64_t h = shape.hidden_size, q = shape.query_size(), kv = shape.kv_size(), f = shape.intermediate_size;
  std::vector<Target> targets;
  for (const Value& value : *value_at(lora.named, "targets").get<List>()) {
    const std::string& name = value.get<Word>()->name;
    if (name == "q_proj") targets.push_back({q, h, "qkv", (q + 2 * kv) * h});
    if (name == "k_proj" || name == "v_proj") targets.push_back({kv, h, "qkv", (q + 2 * kv) * h});
    if (name == "o_proj") targets.push_back({h, q, "o", q * h});
    if (name == "gate_proj" || name == "up_proj") targets.push_back({f, h, "gate_up", 2 * f * h});
    if (name == "down_proj") targets.push_back({h, f, "down", f * h});
  }
  return targets;
}

void add_edges(const Plan& plan, PlanSizes& sizes) {
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    for (std::size_t p = 0; p < node.outputs.size(); ++p) {
      EdgeSize edge;
      edge.from = NodeId(n);
      edge.port = static_cast<std::int32_t>(p);
      for (std::size_t r = 0; r < plan.nodes.size(); ++r) {
        for (const PlanInput& input : plan.nodes[r].inputs) {
          if (input.node != edge.from || input.port != edge.port) continue;
          edge.readers.push_back(NodeId(r));
          GroupId to = plan.nodes[r].group;
          if (to.valid() && node.group.valid() && to != node.group) edge.between_groups = true;
        }
      }
      if (edge.readers.empty()) continue;
      const PortType& type = node.outputs[p].type;
      bool per_token = type.dims.size() > 1;
      edge.bytes.nominal = payload_bytes(type.kind, per_token, sizes.nodes[n], 0.5);
      edge.bytes.most = payload_bytes(type.kind, per_token, sizes.nodes[n], 1.0);
      sizes.edges.push_back(std::move(edge));
    }
  }
}

}  // namespace

std::vector<ModelFacts> read_model_facts(const Plan& plan) {
  std::vector<ModelFacts> facts;
  for (const PlanModel& model : plan.models) {
    ModelFacts fact;
    const std::filesystem::path folder = std::filesystem::path(plan.root) / model.path;
    std::error_code error;
    if (!std::filesystem::exists(folder / "config.json", error)) {
      fact.unknown_because = "`" + model.path + "` has no config.json here";
    } else {
      try {
        fact.shape = read_model_config(folder);
      } catch (const FormatError& fault) {
        fact.unknown_because = fault.what();
      }
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::optional<std::int64_t> NodeSize::longest() const {
  if (!prompt && !response) return std::nullopt;
  return prompt.value_or(0) + response.value_or(0);
}

std::int64_t parameters_of(const ModelConfig& shape, Head head) {
  return head == Head::lm ? shape.with_token_head() : shape.with_score_head();
}

std::int64_t trained_parameters(const PlanModel& model, const ModelConfig& shape) {
  const CallValue* lora = lora_of(model);
  if (lora == nullptr) return parameters_of(shape, model.head);
  std::int64_t sides = 0;
  for (const Target& target : targets_of(*lora, shape)) sides += target.outputs + target.inputs;
  return int_at(lora->named, "rank") * shape.layers * sides;
}

std::int64_t adapted_matrices(const PlanModel& model, const ModelConfig& shape) {
  const CallValue* lora = lora_of(model);
  if (lora == nullptr) return 0;
  std::map<std::string, std::int64_t> matrices;
  for (const Target& target : targets_of(*lora, shape)) matrices[target.matrix] = target.matrix_entries;
  std::int64_t entries = 0;
  for (const auto& [name, count] : matrices) entries += count;
  return shape.layers * entries;
}

PlanSizes sizes_of(const Plan& plan, const std::vector<ModelFacts>& models) {
  PlanSizes sizes;
  const Sizes of(plan, models);
  for (const PlanNode& node : plan.nodes) sizes.nodes.push_back(of.size(node, sizes.nodes));
  add_edges(plan, sizes);
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    const PlanReplica& replica = plan.replicas[r];
    const PlanModel& model = plan.models[replica.model.index()];
    SyncSize sync{ReplicaId(r), std::nullopt};
    const auto& shape = models[replica.model.index()].shape;
    if (replica.in_place) {
      sync.bytes = 0;
    } else if (shape && lora_of(model) != nullptr) {
      sync.bytes = static_cast<double>(4 * trained_parameters(model, *shape));
    } else if (shape) {
      sync.bytes = static_cast<double>(parameters_of(*shape, model.head) * bytes_of(replica.dtype));
    }
    sizes.syncs.push_back(sync);
    sizes.steps_in_flight = std::max(sizes.steps_in_flight, replica.lag + 1);
  }
  return sizes;
}

}  // namespace rlflow
