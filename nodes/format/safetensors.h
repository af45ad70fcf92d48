// How tensors are written to and read from safetensors bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"
#include "runtime/contract/payload.h"

namespace rlflow {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 16u << 20;
inline constexpr std::size_t kMaxSafetensorsTensors = 65'536;
inline constexpr std::size_t kMaxTensorRank = 8;

enum class TensorType { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

std::string_view tensor_type_name(TensorType type);  // "F32"
std::uint64_t tensor_type_size(TensorType type);     // bytes of one element

// A tensor's description and its bytes, row-major, little-endian; borrowed.
struct TensorView {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::span<const std::byte> data;
  std::uint64_t file_offset = 0;  // of `data` in the bytes it was parsed from
};

// The element type that a C++ type is stored as.
template <class T>
constexpr TensorType tensor_type_of() {
  if constexpr (std::is_same_v<T, double>)
    return TensorType::f64;
  else if constexpr (std::is_same_v<T, float>)
    return TensorType::f32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return TensorType::i64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return TensorType::i32;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return TensorType::i8;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return TensorType::u64;
  else {
    static_assert(std::is_same_v<T, std::uint8_t>, "no safetensors type for this C++ type");
    return TensorType::u8;
  }
}

// A one-dimensional tensor over `values`, which must outlive the view.
template <class T>
TensorView vector_view(std::string name, const std::vector<T>& values) {
  return {std::move(name), tensor_type_of<T>(), {values.size()}, std::as_bytes(std::span(values)), 0};
}

// Writes header and data. The bytes depend on the set of tensors alone, not on their order: larger
// element types first (so that every tensor is aligned to its element), names ascending within one.
// Names must be unique and every `data` as long as its shape says (programmer's mistake otherwise).
void write_safetensors(ByteSink& sink, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata);

// A parsed file: views into the bytes it was parsed from, which must outlive it.
class SafetensorsFile {
 public:
  // Checks everything before any view exists: header <= 16 MiB, <= 65,536 tensors, rank <= 8, sizes in checked
  // 64-bit arithmetic, offsets that tile the data section without gap or overlap, no name twice.
  // `what` names the bytes in messages. Throws FormatError.
  SafetensorsFile(std::span<const std::byte> bytes, std::string_view what);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // names ascending
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& what() const { return what_; }

  const TensorView* find(std::string_view name) const;  // null if absent
  const TensorView& at(std::string_view name) const;    // throws FormatError if absent
  const std::string& metadata_at(const std::string& key) const;

  // The elements of a one-dimensional tensor. Throws FormatError on another type or rank.
  template <class T>
  std::vector<T> vector_at(std::string_view name) const {
    const TensorView& tensor = vector_tensor(name, tensor_type_of<T>());
    std::vector<T> values(tensor.data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }

 private:
  const TensorView& vector_tensor(std::string_view name, TensorType type) const;

  std::string what_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace rlflow
