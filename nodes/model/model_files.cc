// What a model in memory and its files say to each other, wherever the model computes.
#include "nodes/model/model_files.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "nodes/format/weight_files.h"
#include "nodes/model/bf16.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_export.h"

namespace rlflow {
namespace {

constexpr const char* kSteps = "steps";

bool holds(const SlotTable& table, const std::string& name) {
  return std::any_of(table.slots.begin(), table.slots.end(),
                     [&](const ParameterSlot& slot) { return slot.name == name; });
}

// Tensors beside the model's own would be silently dropped, so they are refused; what a tied model repeats and the
// position tables of old files carry no information, and a critic takes the place of the base's vocabulary head.
bool belongs(const std::string& name, const ParameterLayout& layout, const ModelConfig& config) {
  const bool replaced = name == "lm_head.weight" && (config.tie_word_embeddings || layout.kind != Head::lm);
  return holds(layout, name) || replaced || name.ends_with("rotary_emb.inv_freq");
}

template <class Belongs>
void read_part(std::span<const std::byte> bytes, const SlotTable& table, const Belongs& belongs_there, float* values) {
  const SafetensorsFile file(bytes, "checkpoint part \"parameters\"");
  check_slots(file, table.slots, "");
  for (const TensorView& tensor : file.tensors()) {
    if (!belongs_there(tensor.name)) {
      throw FormatError(file.what() + ": tensor \"" + tensor.name + "\" does not belong to this model");
    }
  }
  copy_slots(file, table.slots, "", values);
}

}  // namespace

at::Tensor read_weights(const std::filesystem::path& folder, const ModelConfig& config, const ParameterLayout& layout) {
  const WeightFiles files(folder);
  const bool new_head = layout.kind == Head::value && files.find(kScoreWeight) == nullptr;
  const auto stored = std::span(layout.slots).first(layout.slots.size() - (new_head ? 1 : 0));
  check_slots(files, stored);
  for (const WeightFiles::Tensor& tensor : files.tensors()) {
    if (!belongs(tensor.name, layout, config))
      throw FormatError(files.place(tensor) + " does not belong to this model");
  }
  at::Tensor parameters = make_floats(layout.size);
  copy_slots(files, stored, floats(parameters));
  if (new_head) std::fill_n(floats(parameters) + layout.head, layout.head_rows * config.hidden_size, 0.0f);
  return parameters;
}

void write_parameters(const SlotTable& table, const float* parameters, ByteSink& sink) {
  write_safetensors(sink, slot_views(table, parameters, ""), {{"format", "pt"}});
}

void read_parameters(std::span<const std::byte> bytes, const ModelConfig& config, const ParameterLayout& layout,
                     float* parameters) {
  read_part(
      bytes, layout, [&](const std::string& name) { return belongs(name, layout, config); }, parameters);
}

void read_adapters(std::span<const std::byte> bytes, const SlotTable& table, float* adapters) {
  read_part(
      bytes, table, [&](const std::string& name) { return holds(table, name); }, adapters);
}

void write_moments(const SlotTable& table, const float* moment1, const float* moment2, std::int64_t steps,
                   ByteSink& sink) {
  std::vector<TensorView> views = slot_views(table, moment1, kMoment1);
  const std::vector<TensorView> seconds = slot_views(table, moment2, kMoment2);
  views.insert(views.end(), seconds.begin(), seconds.end());
  write_safetensors(sink, std::move(views), {{"format", "rlflow.adamw/1"}, {kSteps, std::to_string(steps)}});
}

std::int64_t read_moments(std::span<const std::byte> bytes, const SlotTable& table, float* moment1, float* moment2) {
  const SafetensorsFile file(bytes, "checkpoint part \"optimizer\"");
  check_slots(file, table.slots, kMoment1);
  check_slots(file, table.slots, kMoment2);
  const std::string& text = file.metadata_at(kSteps);
  if (text.empty() || text.size() > 18 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    throw FormatError(file.what() + ": its step count \"" + text + "\" is not a whole number");
  }
  copy_slots(file, table.slots, kMoment1, moment1);
  copy_slots(file, table.slots, kMoment2, moment2);
  return std::stoll(text);
}

void export_weights(const std::filesystem::path& source, const std::filesystem::path& folder, const ModelConfig& config,
                    const ParameterLayout& layout, const float* parameters, Dtype dtype, std::int32_t threads) {
  copy_tokenizer_files(source, folder);
  const bool halved = dtype == Dtype::bf16;
  write_text(folder / "config.json",
             exported_model_config(config, layout.kind != Head::lm, halved ? "bfloat16" : "float32"));
  std::vector<TensorView> views = slot_views(layout, parameters, "");
  std::vector<std::uint16_t> packed;
  if (halved) {
    packed.resize(static_cast<std::size_t>(layout.size));
    pack_bf16(parameters, layout.size, threads, packed.data());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const ParameterSlot& slot = layout.slots[i];
      views[i].type = TensorType::bf16;
      views[i].data = std::as_bytes(
          std::span(packed).subspan(static_cast<std::size_t>(slot.offset), static_cast<std::size_t>(slot.count)));
    }
  }
  write_weights(folder, views, kLargestWeightFile);
}

std::string first_differing(std::span<const std::byte> bytes, const SlotTable& table, const float* parameters) {
  const SafetensorsFile file(bytes, "parameters");
  for (const ParameterSlot& slot : table.slots) {
    const TensorView* tensor = file.find(slot.name);
    const std::span<const float> own(parameters + slot.offset, static_cast<std::size_t>(slot.count));
    if (!tensor || tensor->data.size() != own.size_bytes() ||
        std::memcmp(tensor->data.data(), own.data(), own.size_bytes()) != 0) {
      return slot.name;
    }
  }
  return "";
}

}  // namespace rlflow
