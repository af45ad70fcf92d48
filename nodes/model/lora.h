// Low-rank adaptation (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"): a linear layer computes
// with W' = W + (alpha/rank)·B·A, and A and B alone are trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/parameters.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

struct LoraSettings {
  std::int64_t rank = 0;
  double alpha = 0;
  std::vector<std::string> targets;  // names of linear layers, as PEFT's target_modules: "q_proj", …, "down_proj"
  std::uint64_t seed = 0;            // of the first A

  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

// `lora` as the compiler has checked it.
LoraSettings lora_settings(const CallValue& lora, std::uint64_t seed);

// The additions to rows [first, first + rows) of one matrix of the forward pass. Offsets are floats in the adapters.
struct Adapter {
  std::int64_t a = 0;  // f32[rank, columns]
  std::int64_t b = 0;  // f32[rows, rank]
  std::int64_t first = 0, rows = 0, columns = 0;
};

struct LayerAdapters {
  std::vector<Adapter> query_key_value, output, gate_up, down;
};

// The flat buffer of all A and B. Slots have the names of PEFT: base_model.model. + the layer's name + .lora_A.weight.
struct AdapterLayout : SlotTable {
  // Throws std::runtime_error where the rank is larger than a side of a matrix, which would then have more parameters
  // than it needs, or a target names no linear layer.
  AdapterLayout(const ModelConfig& config, const LoraSettings& settings);

  std::vector<LayerAdapters> layers;
  std::int64_t rank = 0;
  float scale = 1;
};

// A uniform in ±1/√columns (Kaiming with a = √5, as PEFT draws it), B zero, so that the model begins as its base.
// Element i of A of slot s is number i of the Philox stream of (adapters, seed, s).
void draw_adapters(const AdapterLayout& layout, std::uint64_t seed, float* values);

// What a pass reads of the adapters; borrowed.
struct AdapterView {
  const AdapterLayout& layout;
  const float* values;    // f32[layout.size]
  const float* a_turned;  // the same, each A as f32[columns, rank]
};
// Fills the turned A of each adapter; the rest of `turned` is not touched.
void turn_adapters(const AdapterLayout& layout, const float* values, float* turned);

// matrix f32[·, columns] += scale·B·A for each of `adapters`, on the calling thread.
void add_adapters(const AdapterLayout& layout, const std::vector<Adapter>& adapters, const float* values,
                  float* matrix);

// The adapters of one linear layer, backward: with dy f32[count, outputs], x f32[count, columns],
//   u = scale·dy·B,  dA += uᵀ·x,  dB += scale·dyᵀ·(x·Aᵀ)
// added to `gradient` f32[layout.size]. Then add_adapter_input_gradient adds u·A to dx; `u` goes from one to the other.
struct AdapterScratch {
  std::vector<float> u, z;
};
void adapter_gradients(const AdapterView& view, const std::vector<Adapter>& adapters, const float* dy,
                       std::int64_t outputs, const float* x, std::int64_t count, std::int32_t threads,
                       AdapterScratch& scratch, float* gradient);
void add_adapter_input_gradient(const AdapterView& view, const std::vector<Adapter>& adapters, std::int64_t count,
                                std::int32_t threads, const AdapterScratch& scratch, float* dx);

}  // namespace rlflow
