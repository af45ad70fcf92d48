// How tensors are written to and read from safetensors bytes.
#include "nodes/format/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "nodes/format/json.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

struct TypeRow {
  TensorType type;
  std::string_view name;
  std::uint64_t size;
};
constexpr std::array<TypeRow, 13> kTypes = {{
    {TensorType::f64, "F64", 8},
    {TensorType::f32, "F32", 4},
    {TensorType::f16, "F16", 2},
    {TensorType::bf16, "BF16", 2},
    {TensorType::i64, "I64", 8},
    {TensorType::i32, "I32", 4},
    {TensorType::i16, "I16", 2},
    {TensorType::i8, "I8", 1},
    {TensorType::u64, "U64", 8},
    {TensorType::u32, "U32", 4},
    {TensorType::u16, "U16", 2},
    {TensorType::u8, "U8", 1},
    {TensorType::boolean, "BOOL", 1},
}};

const TypeRow& type_row(TensorType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& row) { return row.type == type; });
}

// The bytes of a tensor, nullopt where they do not fit in 64 bits.
std::optional<std::uint64_t> byte_count(const std::vector<std::uint64_t>& shape, TensorType type) {
  std::uint64_t count = tensor_type_size(type);
  for (std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

std::uint64_t read_u64(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

std::string tensor_text(const TensorView& tensor, std::uint64_t begin) {
  std::string text =
      json_quoted(tensor.name) + ":{\"dtype\":\"" + std::string(tensor_type_name(tensor.type)) + "\",\"shape\":[";
  for (std::uint64_t extent : tensor.shape) {
    if (text.back() != '[') text += ',';
    text += std::to_string(extent);
  }
  return text + "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(begin + tensor.data.size()) +
         "]}";
}

std::string header_text(const std::vector<TensorView>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (text.back() != '{') text += ',';
      text += json_quoted(key) + ":" + json_quoted(value);
    }
    text += "}";
  }
  std::uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    if (text.back() != '{') text += ',';
    text += tensor_text(tensor, begin);
    begin += tensor.data.size();
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data section starts aligned
  return text;
}

// One entry of the header, its `data` still empty; [begin, end) are offsets into the data section.
struct Entry {
  TensorView tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::uint64_t unsigned_number(const nlohmann::json& value, const std::string& place) {
  if (!value.is_number_unsigned()) throw FormatError(place + " is not a whole number that fits in 64 bits");
  return value.get<std::uint64_t>();
}

Entry read_entry(const std::string& name, const nlohmann::json& value, const std::string& what) {
  std::string place = what + ": tensor " + json_quoted(name);
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    throw FormatError(place + " must have exactly dtype, shape and data_offsets");
  }
  Entry entry;
  entry.tensor.name = name;
  const nlohmann::json& dtype = value["dtype"];
  auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& r) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == r.name;
  });
  if (row == kTypes.end()) throw FormatError(place + " has the unknown dtype " + dtype.dump());
  entry.tensor.type = row->type;
  const nlohmann::json& shape = value["shape"];
  if (!shape.is_array() || shape.size() > kMaxTensorRank) {
    throw FormatError(place + " must have a shape of at most " + std::to_string(kMaxTensorRank) + " numbers");
  }
  for (const nlohmann::json& extent : shape) entry.tensor.shape.push_back(unsigned_number(extent, place + ": shape"));
  const nlohmann::json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) throw FormatError(place + " must have two data_offsets");
  entry.begin = unsigned_number(offsets[0], place + ": data_offsets");
  entry.end = unsigned_number(offsets[1], place + ": data_offsets");
  std::optional<std::uint64_t> size = byte_count(entry.tensor.shape, entry.tensor.type);
  if (!size || entry.end < entry.begin || entry.end - entry.begin != *size) {
    throw FormatError(place + ": data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
                      "] do not hold its shape, which takes " + (size ? std::to_string(*size) : "2^64 or more") +
                      " bytes");
  }
  return entry;
}

// The entries must tile [0, data_size): sorted by place, each begins where the one before ended.
void check_tiling(std::vector<Entry>& entries, std::uint64_t data_size, const std::string& what) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) {
      throw FormatError(what + ": tensor " + json_quoted(entry.tensor.name) + " begins at data offset " +
                        std::to_string(entry.begin) + ", the one before ends at " + std::to_string(at));
    }
    at = entry.end;
  }
  if (at != data_size) {
    throw FormatError(what + ": the header describes " + std::to_string(at) + " bytes of tensors, the file holds " +
                      std::to_string(data_size));
  }
}

std::map<std::string, std::string> read_metadata(const nlohmann::json& value, const std::string& what) {
  if (!value.is_object()) throw FormatError(what + ": __metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw FormatError(what + ": __metadata__ " + json_quoted(key) + " is not a string");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

}  // namespace

std::string_view tensor_type_name(TensorType type) { return type_row(type).name; }
std::uint64_t tensor_type_size(TensorType type) { return type_row(type).size; }

void write_safetensors(ByteSink& sink, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    std::uint64_t size_a = tensor_type_size(a.type), size_b = tensor_type_size(b.type);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  for (const TensorView& tensor : tensors) {
    RLFLOW_CHECK(byte_count(tensor.shape, tensor.type) == tensor.data.size(), tensor.name);
  }
  std::string header = header_text(tensors, metadata);
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  sink.write(length);
  sink.write(std::as_bytes(std::span(header)));
  for (const TensorView& tensor : tensors) {
    if (!tensor.data.empty()) sink.write(tensor.data);
  }
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string_view what) : what_(what) {
  if (bytes.size() < 8)
    throw FormatError(what_ + ": " + std::to_string(bytes.size()) + " bytes are no safetensors file");
  std::uint64_t header_size = read_u64(bytes);
  if (header_size > kMaxSafetensorsHeader) {
    throw FormatError(what_ + ": claims a header of " + std::to_string(header_size) + " bytes, the limit is " +
                      std::to_string(kMaxSafetensorsHeader));
  }
  if (header_size > bytes.size() - 8) {
    throw FormatError(what_ + ": cut off inside its header, which takes " + std::to_string(header_size) +
                      " bytes from offset 8, the file has " + std::to_string(bytes.size()));
  }
  std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_size);
  nlohmann::json header = parse_json(text, what_ + " header");
  if (!header.is_object()) throw FormatError(what_ + ": the header is not an object");
  if (header.size() > kMaxSafetensorsTensors + 1) {
    throw FormatError(what_ + ": more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
  }
  std::span<const std::byte> data = bytes.subspan(8 + header_size);
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__")
      metadata_ = read_metadata(value, what_);
    else
      entries.push_back(read_entry(name, value, what_));
  }
  if (entries.size() > kMaxSafetensorsTensors) {
    throw FormatError(what_ + ": more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
  }
  check_tiling(entries, data.size(), what_);
  for (Entry& entry : entries) {
    entry.tensor.data = data.subspan(entry.begin, entry.end - entry.begin);
    entry.tensor.file_offset = 8 + header_size + entry.begin;
    tensors_.push_back(std::move(entry.tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                [](const TensorView& tensor, std::string_view n) { return tensor.name < n; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const TensorView& SafetensorsFile::at(std::string_view name) const {
  const TensorView* tensor = find(name);
  if (!tensor) throw FormatError(what_ + ": has no tensor " + json_quoted(name));
  return *tensor;
}

const std::string& SafetensorsFile::metadata_at(const std::string& key) const {
  auto found = metadata_.find(key);
  if (found == metadata_.end()) throw FormatError(what_ + ": has no metadata " + json_quoted(key));
  return found->second;
}

const TensorView& SafetensorsFile::vector_tensor(std::string_view name, TensorType type) const {
  const TensorView& tensor = at(name);
  if (tensor.type != type || tensor.shape.size() != 1) {
    throw FormatError(what_ + ": tensor " + json_quoted(name) + " is not a vector of " +
                      std::string(tensor_type_name(type)));
  }
  return tensor;
}

}  // namespace rlflow
