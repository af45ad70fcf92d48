// How a flat buffer of parameters (or moments) is saved to and loaded from safetensors.
#include "nodes/model/tensor_file.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>

#include "nodes/format/json.h"

namespace rlflow {
namespace {

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

template <class T>
void widen(std::span<const std::byte> bytes, float* values) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(element);
  }
}

void check_slot(const ParameterSlot& slot, const std::vector<std::uint64_t>& shape, TensorType type, bool convert,
                const std::string& place) {
  const std::vector<std::uint64_t> wanted(slot.shape.begin(), slot.shape.end());
  if (shape != wanted) {
    throw FormatError(place + " has shape " + shape_text(shape) + ", the model needs " + shape_text(wanted));
  }
  const bool half = type == TensorType::bf16 || type == TensorType::f16;
  if (type != TensorType::f32 && !(convert && half)) {
    throw FormatError(place + " has dtype " + std::string(tensor_type_name(type)) +
                      (convert ? ", only F32, BF16 and F16 can be read" : ", it must be F32"));
  }
}

}  // namespace

std::vector<TensorView> slot_views(const SlotTable& layout, const float* values, const std::string& prefix) {
  std::vector<TensorView> views;
  for (const ParameterSlot& slot : layout.slots) {
    const std::span<const float> elements(values + slot.offset, static_cast<std::size_t>(slot.count));
    views.push_back(
        {prefix + slot.name, TensorType::f32, {slot.shape.begin(), slot.shape.end()}, std::as_bytes(elements), 0});
  }
  return views;
}

void check_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix) {
  for (const ParameterSlot& slot : slots) {
    const TensorView& tensor = file.at(prefix + slot.name);
    check_slot(
        slot, tensor.shape, tensor.type, false,
        file.what() + ": tensor " + json_quoted(tensor.name) + " at offset " + std::to_string(tensor.file_offset));
  }
}

void copy_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                float* values) {
  for (const ParameterSlot& slot : slots) {
    const TensorView& tensor = file.at(prefix + slot.name);
    std::memcpy(values + slot.offset, tensor.data.data(), tensor.data.size());
  }
}

void check_slots(const WeightFiles& files, std::span<const ParameterSlot> slots) {
  for (const ParameterSlot& slot : slots) {
    const WeightFiles::Tensor* tensor = files.find(slot.name);
    if (!tensor) throw FormatError(files.folder() + ": its weights have no tensor " + json_quoted(slot.name));
    check_slot(slot, tensor->shape, tensor->type, true, files.place(*tensor));
  }
}

void copy_slots(const WeightFiles& files, std::span<const ParameterSlot> slots, float* values) {
  std::map<std::string_view, const ParameterSlot*> by_name;
  for (const ParameterSlot& slot : slots) by_name[slot.name] = &slot;
  files.read([&](const WeightFiles::Tensor& tensor, std::span<const std::byte> data) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) return;
    float* target = values + found->second->offset;
    if (tensor.type == TensorType::bf16) {
      widen<c10::BFloat16>(data, target);
    } else if (tensor.type == TensorType::f16) {
      widen<c10::Half>(data, target);
    } else {
      std::memcpy(target, data.data(), data.size());
    }
  });
}

}  // namespace rlflow
