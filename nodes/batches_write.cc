// How payloads are written: one safetensors file each, or one JSON object for what holds no tensors.
#include <map>
#include <string>

#include "nodes/batches.h"
#include "nodes/format/json.h"
#include "nodes/format/number_record.h"
#include "nodes/format/safetensors.h"
#include "runtime/contract/attributes.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

using Metadata = std::map<std::string, std::string>;

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}
std::uint64_t bytes_of(const PackedTokens& rows) { return bytes_of(rows.tokens) + bytes_of(rows.offsets); }
std::uint64_t bytes_of(const std::vector<std::string>& texts) {
  std::uint64_t sum = 0;
  for (const std::string& text : texts) sum += sizeof text + text.size();
  return sum;
}
std::uint64_t bytes_of(const BatchDescriptor& batch) {
  return bytes_of(batch.group) + bytes_of(batch.offsets) + bytes_of(batch.mask) + bytes_of(batch.finish) +
         bytes_of(batch.stop);
}
// Texts end to end, with offsets, as tensors.
struct PackedTexts {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets{0};

  explicit PackedTexts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      bytes.insert(bytes.end(), text.begin(), text.end());
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
  }
};

void add(std::vector<TensorView>& tensors, const std::string& name, const PackedTokens& rows) {
  tensors.push_back(vector_view(name, rows.tokens));
  tensors.push_back(vector_view(name + ".offsets", rows.offsets));
}
void add(std::vector<TensorView>& tensors, const std::string& name, const PackedTexts& texts) {
  tensors.push_back(vector_view(name, texts.bytes));
  tensors.push_back(vector_view(name + ".offsets", texts.offsets));
}
void add(std::vector<TensorView>& tensors, Metadata& metadata, const BatchDescriptor& batch) {
  tensors.push_back(vector_view("batch.group", batch.group));
  tensors.push_back(vector_view("batch.offsets", batch.offsets));
  tensors.push_back(vector_view("batch.mask", batch.mask));
  tensors.push_back(vector_view("batch.finish", batch.finish));
  metadata["temperature"] = double_text(batch.temperature);
  if (!batch.stop.empty()) metadata["stop"] = nlohmann::json(batch.stop).dump();
}

// Prompts stand alone and inside trajectories; the packed texts must outlive the views.
struct PromptTexts {
  PackedTexts text;
  PackedTexts answer;
  explicit PromptTexts(const Prompts& prompts) : text(prompts.text), answer(prompts.answer) {}
};
void add(std::vector<TensorView>& tensors, const Prompts& prompts, const PromptTexts& texts) {
  add(tensors, "prompts.tokens", prompts.tokens);
  tensors.push_back(vector_view("prompts.source_row", prompts.source_row));
  add(tensors, "prompts.text", texts.text);
  add(tensors, "prompts.answer", texts.answer);
}

Metadata format_of(Kind kind) { return {{"format", batch_format(kind)}}; }
Metadata format_of(Kind kind, const BatchDescriptor& batch) {
  return {{"format", batch_format(kind, batch.stop.empty() ? 1 : 2)}};
}

void write_record(ByteSink& sink, const NumberRecord& record) {
  const std::string text = record.text();
  sink.write(std::as_bytes(std::span(text)));
}

}  // namespace

std::string batch_format(Kind kind, int version) {
  return "rlflow." + std::string(kind_name(kind)) + "/" + std::to_string(version);
}

Numbers::Numbers(Kind kind, BatchPtr descriptor, bool one_per_token, std::vector<float> values)
    : batch(std::move(descriptor)), per_token(one_per_token), data(std::move(values)), kind_(kind) {
  const std::size_t expected = per_token ? static_cast<std::size_t>(batch->tokens()) : batch->size();
  RLFLOW_CHECK(data.size() == expected, std::string(kind_name(kind)) + " holds " + std::to_string(data.size()) +
                                            " numbers for " + std::to_string(expected));
}

std::uint64_t Prompts::memory_bytes() const {
  return bytes_of(tokens) + bytes_of(source_row) + bytes_of(text) + bytes_of(answer);
}
std::uint64_t Examples::memory_bytes() const { return bytes_of(tokens) + bytes_of(loss_mask) + bytes_of(source_row); }
std::uint64_t Pairs::memory_bytes() const {
  return bytes_of(*batch) + bytes_of(prompts) + bytes_of(tokens) + bytes_of(source_row);
}
std::uint64_t Rollouts::memory_bytes() const {
  return bytes_of(*batch) + prompts->memory_bytes() + bytes_of(tokens) + bytes_of(logprob);
}
std::uint64_t Numbers::memory_bytes() const { return bytes_of(*batch) + bytes_of(data); }
std::uint64_t Metrics::memory_bytes() const {
  std::uint64_t sum = sizeof *this;
  for (const auto& [name, value] : values) sum += sizeof name + name.size() + sizeof value;
  return sum;
}

void Prompts::write(ByteSink& sink) const {
  const PromptTexts texts(*this);
  std::vector<TensorView> tensors;
  add(tensors, *this, texts);
  write_safetensors(sink, std::move(tensors), format_of(kind()));
}

void Examples::write(ByteSink& sink) const {
  std::vector<TensorView> tensors;
  add(tensors, "tokens", tokens);
  tensors.push_back(vector_view("loss_mask", loss_mask));
  tensors.push_back(vector_view("source_row", source_row));
  write_safetensors(sink, std::move(tensors), format_of(kind()));
}

void Pairs::write(ByteSink& sink) const {
  Metadata metadata = format_of(kind(), *batch);
  std::vector<TensorView> tensors;
  add(tensors, metadata, *batch);
  add(tensors, "prompts", prompts);
  tensors.push_back(vector_view("tokens", tokens));
  tensors.push_back(vector_view("source_row", source_row));
  write_safetensors(sink, std::move(tensors), metadata);
}

void Rollouts::write(ByteSink& sink) const {
  const PromptTexts texts(*prompts);
  Metadata metadata = format_of(kind(), *batch);
  metadata["version"] = std::to_string(version);
  std::vector<TensorView> tensors;
  add(tensors, metadata, *batch);
  add(tensors, *prompts, texts);
  tensors.push_back(vector_view("tokens", tokens));
  tensors.push_back(vector_view("logprob", logprob));
  write_safetensors(sink, std::move(tensors), metadata);
}

void Numbers::write(ByteSink& sink) const {
  Metadata metadata = format_of(kind(), *batch);
  metadata["per"] = per_token ? "token" : "response";
  std::vector<TensorView> tensors;
  add(tensors, metadata, *batch);
  tensors.push_back(vector_view("data", data));
  write_safetensors(sink, std::move(tensors), metadata);
}

void Scalar::write(ByteSink& sink) const { write_record(sink, {batch_format(kind()), {{"value", value}}}); }

void Metrics::write(ByteSink& sink) const {
  NumberRecord record{batch_format(kind()), {}};
  for (const auto& [name, value] : values) {
    RLFLOW_CHECK(record.numbers.emplace(name, value).second, "two metrics named " + name);
  }
  write_record(sink, record);
}

void Cursor::write(ByteSink& sink) const {
  write_record(sink, {batch_format(kind()), {{"epoch", epoch}, {"offset", offset}}});
}

}  // namespace rlflow
