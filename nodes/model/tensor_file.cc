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

}  // namespace

std::vector<TensorView> slot_views(const ParameterLayout& layout, const float* values, const std::string& prefix) {
  std::vector<TensorView> views;
  for (const ParameterSlot& slot : layout.slots) {
    const std::span<const float> elements(values + slot.offset, static_cast<std::size_t>(slot.count));
    views.push_back(
        {prefix + slot.name, TensorType::f32, {slot.shape.begin(), slot.shape.end()}, std::as_bytes(elements), 0});
  }
  return views;
}

void check_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                 bool convert) {
  for (const ParameterSlot& slot : slots) {
    const TensorView& tensor = file.at(prefix + slot.name);
    const std::vector<std::uint64_t> shape(slot.shape.begin(), slot.shape.end());
    const std::string place =
        file.what() + ": tensor " + json_quoted(tensor.name) + " at offset " + std::to_string(tensor.file_offset);
    if (tensor.shape != shape) {
      throw FormatError(place + " has shape " + shape_text(tensor.shape) + ", the model needs " + shape_text(shape));
    }
    const bool half = tensor.type == TensorType::bf16 || tensor.type == TensorType::f16;
    if (tensor.type != TensorType::f32 && !(convert && half)) {
      throw FormatError(place + " has dtype " + std::string(tensor_type_name(tensor.type)) +
                        (convert ? ", only F32, BF16 and F16 can be read" : ", it must be F32"));
    }
  }
}

void copy_slots(const SafetensorsFile& file, std::span<const ParameterSlot> slots, const std::string& prefix,
                float* values) {
  for (const ParameterSlot& slot : slots) {
    const TensorView& tensor = file.at(prefix + slot.name);
    float* target = values + slot.offset;
    if (tensor.type == TensorType::bf16) {
      widen<c10::BFloat16>(tensor.data, target);
    } else if (tensor.type == TensorType::f16) {
      widen<c10::Half>(tensor.data, target);
    } else {
      std::memcpy(target, tensor.data.data(), tensor.data.size());
    }
  }
}

}  // namespace rlflow
