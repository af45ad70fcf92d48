// Low-rank adaptation: where adapters stand, how they are drawn, merged and differentiated.
#include "nodes/model/lora.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"
#include "runtime/contract/check.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

// One linear layer that may be a target.
struct Linear {
  const char* name;
  const char* block;
  std::int64_t rows, columns;
  std::int64_t first;  // its first row in the matrix of the forward pass
  std::vector<Adapter> LayerAdapters::*where;
};

std::vector<Linear> linears_of(const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size, query = config.query_size(), kv = config.kv_size();
  const std::int64_t inner = config.intermediate_size;
  return {
      {"q_proj", "self_attn", query, hidden, 0, &LayerAdapters::query_key_value},
      {"k_proj", "self_attn", kv, hidden, query, &LayerAdapters::query_key_value},
      {"v_proj", "self_attn", kv, hidden, query + kv, &LayerAdapters::query_key_value},
      {"o_proj", "self_attn", hidden, query, 0, &LayerAdapters::output},
      {"gate_proj", "mlp", inner, hidden, 0, &LayerAdapters::gate_up},
      {"up_proj", "mlp", inner, hidden, inner, &LayerAdapters::gate_up},
      {"down_proj", "mlp", hidden, inner, 0, &LayerAdapters::down},
  };
}

std::int64_t add_slot(AdapterLayout& layout, std::string name, std::int64_t rows, std::int64_t columns) {
  const std::int64_t offset = layout.size;
  layout.slots.push_back({std::move(name), {rows, columns}, ParameterRole::matrix, offset, rows * columns});
  layout.size += rows * columns;
  return offset;
}

void check_target(const Linear& linear, const LoraSettings& settings) {
  const std::int64_t side = std::min(linear.rows, linear.columns);
  if (settings.rank <= side) return;
  throw std::runtime_error("rank " + std::to_string(settings.rank) + " is more than a side of `" + linear.name +
                           "`, which is " + std::to_string(linear.rows) + " x " + std::to_string(linear.columns) +
                           ": take a rank of at most " + std::to_string(side));
}

}  // namespace

LoraSettings lora_settings(const CallValue& lora, std::uint64_t seed) {
  RLFLOW_CHECK(lora.name == "lora", lora.name);
  LoraSettings settings;
  settings.rank = int_at(lora.named, "rank");
  settings.alpha = real_at(lora.named, "alpha");
  settings.seed = seed;
  for (const Value& target : *value_at(lora.named, "targets").get<List>()) {
    settings.targets.push_back(target.get<Word>()->name);
  }
  return settings;
}

AdapterLayout::AdapterLayout(const ModelConfig& config, const LoraSettings& settings)
    : rank(settings.rank), scale(settings.scale()) {
  std::set<std::string> unknown(settings.targets.begin(), settings.targets.end());
  for (std::int64_t i = 0; i < config.layers; ++i) {
    LayerAdapters at;
    for (const Linear& linear : linears_of(config)) {
      if (std::count(settings.targets.begin(), settings.targets.end(), linear.name) == 0) continue;
      unknown.erase(linear.name);
      check_target(linear, settings);
      const std::string name =
          "base_model.model.model.layers." + std::to_string(i) + "." + linear.block + "." + linear.name + ".lora_";
      Adapter adapter;
      adapter.a = add_slot(*this, name + "A.weight", rank, linear.columns);
      adapter.b = add_slot(*this, name + "B.weight", linear.rows, rank);
      adapter.first = linear.first;
      adapter.rows = linear.rows;
      adapter.columns = linear.columns;
      (at.*linear.where).push_back(adapter);
    }
    layers.push_back(std::move(at));
  }
  if (!unknown.empty()) throw std::runtime_error("the model has no linear layer `" + *unknown.begin() + "`");
}

void draw_adapters(const AdapterLayout& layout, std::uint64_t seed, float* values) {
  std::fill_n(values, layout.size, 0.0f);
  for (std::size_t s = 0; s < layout.slots.size(); s += 2) {  // A, then B, of each
    const ParameterSlot& slot = layout.slots[s];
    const double bound = 1.0 / std::sqrt(static_cast<double>(slot.shape[1]));
    PhiloxStream stream(h64(RandomPurpose::adapters, {seed, s}));
    for (std::int64_t i = 0; i < slot.count; ++i) {
      values[slot.offset + i] = static_cast<float>((2 * stream.uniform() - 1) * bound);
    }
  }
}

void turn_adapters(const AdapterLayout& layout, const float* values, float* turned) {
  for (std::size_t s = 0; s < layout.slots.size(); s += 2) {
    const ParameterSlot& a = layout.slots[s];
    const std::int64_t columns = a.shape[1];
    for (std::int64_t k = 0; k < layout.rank; ++k) {
      for (std::int64_t j = 0; j < columns; ++j) {
        turned[a.offset + j * layout.rank + k] = values[a.offset + k * columns + j];
      }
    }
  }
}

void add_adapters(const AdapterLayout& layout, const std::vector<Adapter>& adapters, const float* values,
                  float* matrix) {
  for (const Adapter& adapter : adapters) {
    std::vector<float> scaled(values + adapter.b, values + adapter.b + adapter.rows * layout.rank);
    for (float& element : scaled) element *= layout.scale;
    cpu::kernels().product({.rows = adapter.rows,
                            .columns = adapter.columns,
                            .depth = layout.rank,
                            .a = scaled.data(),
                            .a_row = layout.rank,
                            .a_depth = 1,
                            .b = values + adapter.a,
                            .b_depth = adapter.columns,
                            .b_panel = cpu::kLanes,
                            .b_padded = false,
                            .c = matrix + adapter.first * adapter.columns,
                            .c_row = adapter.columns,
                            .add = true});
  }
}

void adapter_gradients(const AdapterView& view, const std::vector<Adapter>& adapters, const float* dy,
                       std::int64_t outputs, const float* x, std::int64_t count, std::int32_t threads,
                       AdapterScratch& scratch, float* gradient) {
  const std::int64_t rank = view.layout.rank, width = count * rank;
  scratch.u.resize(adapters.size() * static_cast<std::size_t>(width));
  scratch.z.resize(static_cast<std::size_t>(width));
  float* u = scratch.u.data();
  float* z = scratch.z.data();
  for (const Adapter& adapter : adapters) {
    const float* own = dy + adapter.first;
    run_product({.rows = count,
                 .columns = rank,
                 .depth = adapter.rows,
                 .a = own,
                 .a_row = outputs,
                 .a_depth = 1,
                 .b = view.values + adapter.b,
                 .b_depth = rank,
                 .b_panel = cpu::kLanes,
                 .b_padded = false,
                 .c = u,
                 .c_row = rank,
                 .add = false},
                threads);
    run_product({.rows = count,
                 .columns = rank,
                 .depth = adapter.columns,
                 .a = x,
                 .a_row = adapter.columns,
                 .a_depth = 1,
                 .b = view.a_turned + adapter.a,
                 .b_depth = rank,
                 .b_panel = cpu::kLanes,
                 .b_padded = false,
                 .c = z,
                 .c_row = rank,
                 .add = false},
                threads);
    for (std::int64_t i = 0; i < width; ++i) u[i] *= view.layout.scale, z[i] *= view.layout.scale;
    linear_weight_gradient(u, rank, x, adapter.columns, count, gradient + adapter.a, threads);
    run_product({.rows = adapter.rows,
                 .columns = rank,
                 .depth = count,
                 .a = own,
                 .a_row = 1,
                 .a_depth = outputs,
                 .b = z,
                 .b_depth = rank,
                 .b_panel = cpu::kLanes,
                 .b_padded = false,
                 .c = gradient + adapter.b,
                 .c_row = rank,
                 .add = true},
                threads);
    u += width;
  }
}

void add_adapter_input_gradient(const AdapterView& view, const std::vector<Adapter>& adapters, std::int64_t count,
                                std::int32_t threads, const AdapterScratch& scratch, float* dx) {
  const float* u = scratch.u.data();
  for (const Adapter& adapter : adapters) {
    linear_input_gradient(view.values + adapter.a, view.layout.rank, adapter.columns, u, count, dx, true, threads);
    u += count * view.layout.rank;
  }
}

}  // namespace rlflow
