// How payloads are read back from bytes that nobody vouches for: every count and offset is checked before it is used.
#include <charconv>
#include <cmath>
#include <set>

#include "nodes/batches.h"
#include "nodes/format/json.h"
#include "nodes/format/number_record.h"
#include "nodes/format/safetensors.h"

namespace rlflow {
namespace {

// A safetensors file of one kind. Each part is asked for by name; what nobody asked for is an error at the end.
class BatchFile {
 public:
  BatchFile(Kind kind, std::span<const std::byte> bytes) : file_(bytes, batch_format(kind)) {
    const std::string& format = metadata("format");
    const bool holds_batch = kind != Kind::prompts && kind != Kind::examples;
    if (holds_batch && format == batch_format(kind, 2)) {
      version_ = 2;
    } else if (format != batch_format(kind)) {
      throw FormatError("expected " + batch_format(kind) + ", the bytes are " + json_quoted(format));
    }
  }

  int version() const { return version_; }

  template <class T>
  std::vector<T> vector(const std::string& name) {
    used_.insert(name);
    return file_.vector_at<T>(name);
  }

  // The same, of exactly `size` elements; `of` says what there is one of.
  template <class T>
  std::vector<T> vector(const std::string& name, std::size_t size, const char* of) {
    std::vector<T> values = vector<T>(name);
    if (values.size() != size) {
      fail("tensor " + json_quoted(name) + " has " + std::to_string(values.size()) + " elements, there are " +
           std::to_string(size) + " " + of);
    }
    return values;
  }

  const std::string& metadata(const std::string& key) {
    used_metadata_.insert(key);
    return file_.metadata_at(key);
  }

  void check_all_used() const {
    for (const TensorView& tensor : file_.tensors()) {
      if (!used_.contains(tensor.name)) fail("tensor " + json_quoted(tensor.name) + " is not known");
    }
    for (const auto& [key, value] : file_.metadata()) {
      if (!used_metadata_.contains(key)) fail("metadata " + json_quoted(key) + " is not known");
    }
  }

  [[noreturn]] void fail(const std::string& message) const { throw FormatError(file_.what() + ": " + message); }

 private:
  SafetensorsFile file_;
  int version_ = 1;
  std::set<std::string> used_;
  std::set<std::string> used_metadata_;
};

// Offsets of rows over `elements` elements: from 0, never falling, to their number.
std::vector<std::int64_t> read_offsets(BatchFile& file, const std::string& name, std::size_t elements) {
  std::vector<std::int64_t> offsets = file.vector<std::int64_t>(name);
  const std::string tensor = "tensor " + json_quoted(name);
  if (offsets.empty() || offsets.front() != 0) file.fail(tensor + " does not begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      file.fail(tensor + " falls from " + std::to_string(offsets[i - 1]) + " to " + std::to_string(offsets[i]) +
                " at element " + std::to_string(i));
    }
  }
  if (offsets.back() != static_cast<std::int64_t>(elements)) {
    file.fail(tensor + " ends at " + std::to_string(offsets.back()) + ", there are " + std::to_string(elements) +
              " elements");
  }
  return offsets;
}

// Every element lies in [0, limit).
template <class T>
void check_range(const BatchFile& file, const std::string& name, const std::vector<T>& values, std::int64_t limit) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < T{0} || static_cast<std::int64_t>(values[i]) >= limit) {
      file.fail("tensor " + json_quoted(name) + " holds " + std::to_string(values[i]) + " at element " +
                std::to_string(i) + ", outside 0.." + std::to_string(limit - 1));
    }
  }
}

constexpr std::int64_t kTokenLimit = std::int64_t{INT32_MAX} + 1;  // any id that its type can hold

PackedTokens read_tokens(BatchFile& file, const std::string& name) {
  PackedTokens rows;
  rows.tokens = file.vector<std::int32_t>(name);
  check_range(file, name, rows.tokens, kTokenLimit);
  rows.offsets = read_offsets(file, name + ".offsets", rows.tokens.size());
  return rows;
}

std::vector<std::string> read_texts(BatchFile& file, const std::string& name, std::size_t rows) {
  const std::vector<std::uint8_t> bytes = file.vector<std::uint8_t>(name);
  const std::vector<std::int64_t> offsets = read_offsets(file, name + ".offsets", bytes.size());
  if (offsets.size() - 1 != rows) {
    file.fail("tensor " + json_quoted(name + ".offsets") + " describes " + std::to_string(offsets.size() - 1) +
              " texts, there are " + std::to_string(rows) + " prompts");
  }
  std::vector<std::string> texts;
  texts.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) texts.emplace_back(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
  return texts;
}

std::shared_ptr<Prompts> read_prompts(BatchFile& file) {
  auto prompts = std::make_shared<Prompts>();
  prompts->tokens = read_tokens(file, "prompts.tokens");
  const std::size_t rows = prompts->tokens.rows();
  prompts->source_row = file.vector<std::int64_t>("prompts.source_row", rows, "prompts");
  check_range(file, "prompts.source_row", prompts->source_row, INT64_MAX);
  prompts->text = read_texts(file, "prompts.text", rows);
  prompts->answer = read_texts(file, "prompts.answer", rows);
  return prompts;
}

std::shared_ptr<Examples> read_examples(BatchFile& file) {
  auto examples = std::make_shared<Examples>();
  examples->tokens = read_tokens(file, "tokens");
  examples->loss_mask = file.vector<std::uint8_t>("loss_mask", examples->tokens.tokens.size(), "tokens");
  check_range(file, "loss_mask", examples->loss_mask, 2);
  examples->source_row = file.vector<std::int64_t>("source_row", examples->tokens.rows(), "examples");
  check_range(file, "source_row", examples->source_row, INT64_MAX);
  return examples;
}

template <class T>
T read_number(BatchFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || std::isinf(number)) {
    file.fail("metadata " + json_quoted(key) + " is " + json_quoted(text) + ", not a number of at least 0");
  }
  return number;
}

std::vector<std::string> read_stop(BatchFile& file) {
  const nlohmann::json list = parse_json(file.metadata("stop"), "metadata \"stop\"");
  std::vector<std::string> texts;
  if (list.is_array()) {
    for (const nlohmann::json& text : list) {
      if (text.is_string() && !text.get_ref<const std::string&>().empty()) texts.push_back(text.get<std::string>());
    }
  }
  if (!list.is_array() || texts.empty() || texts.size() != list.size())
    file.fail("metadata \"stop\" is not a list of texts");
  return texts;
}

std::shared_ptr<BatchDescriptor> read_descriptor(BatchFile& file) {
  auto batch = std::make_shared<BatchDescriptor>();
  batch->mask = file.vector<std::uint8_t>("batch.mask");
  check_range(file, "batch.mask", batch->mask, 2);
  batch->offsets = read_offsets(file, "batch.offsets", batch->mask.size());
  const std::size_t responses = batch->offsets.size() - 1;
  batch->group = file.vector<std::int32_t>("batch.group", responses, "responses");
  check_range(file, "batch.group", batch->group, kTokenLimit);
  for (std::size_t i = 1; i < responses; ++i) {
    if (batch->group[i] < batch->group[i - 1]) {
      file.fail("tensor \"batch.group\" falls at element " + std::to_string(i) +
                ": responses of one prompt are adjacent");
    }
  }
  batch->finish = file.vector<std::uint8_t>("batch.finish", responses, "responses");
  if (file.version() == 2) batch->stop = read_stop(file);
  check_range(file, "batch.finish", batch->finish, file.version() == 2 ? 3 : 2);
  batch->temperature = read_number<double>(file, "temperature");
  return batch;
}

std::shared_ptr<Rollouts> read_rollouts(BatchFile& file) {
  auto traj = std::make_shared<Rollouts>();
  std::shared_ptr<BatchDescriptor> batch = read_descriptor(file);
  traj->prompts = read_prompts(file);
  check_range(file, "batch.group", batch->group, static_cast<std::int64_t>(traj->prompts->tokens.rows()));
  const auto tokens = static_cast<std::size_t>(batch->tokens());
  traj->batch = std::move(batch);
  traj->tokens = file.vector<std::int32_t>("tokens", tokens, "response tokens");
  check_range(file, "tokens", traj->tokens, kTokenLimit);
  traj->logprob = file.vector<float>("logprob", tokens, "response tokens");
  traj->version = read_number<std::int64_t>(file, "version");
  return traj;
}

std::shared_ptr<Pairs> read_pairs(BatchFile& file) {
  auto pairs = std::make_shared<Pairs>();
  std::shared_ptr<BatchDescriptor> batch = read_descriptor(file);
  pairs->prompts = read_tokens(file, "prompts");
  const std::size_t rows = pairs->prompts.rows();
  if (batch->size() != 2 * rows) {
    file.fail("there are " + std::to_string(batch->size()) + " responses for " + std::to_string(rows) + " pairs");
  }
  for (std::size_t i = 0; i < batch->size(); ++i) {
    if (batch->group[i] != static_cast<std::int32_t>(i / 2))
      file.fail("response " + std::to_string(i) + " is not of its pair");
  }
  pairs->tokens = file.vector<std::int32_t>("tokens", static_cast<std::size_t>(batch->tokens()), "response tokens");
  check_range(file, "tokens", pairs->tokens, kTokenLimit);
  pairs->source_row = file.vector<std::int64_t>("source_row", rows, "pairs");
  check_range(file, "source_row", pairs->source_row, INT64_MAX);
  pairs->batch = std::move(batch);
  return pairs;
}

std::shared_ptr<Numbers> read_numbers(BatchFile& file, Kind kind) {
  std::shared_ptr<BatchDescriptor> batch = read_descriptor(file);
  const std::string& per = file.metadata("per");
  if (per != "token" && per != "response") file.fail("metadata \"per\" is neither token nor response");
  const bool per_token = per == "token";
  std::vector<float> data =
      per_token ? file.vector<float>("data", static_cast<std::size_t>(batch->tokens()), "response tokens")
                : file.vector<float>("data", batch->size(), "responses");
  return std::make_shared<Numbers>(kind, std::move(batch), per_token, std::move(data));
}

template <class T>
PayloadPtr whole_file(BatchFile& file, std::shared_ptr<T> payload) {
  file.check_all_used();
  return payload;
}

NumberRecord read_record(Kind kind, std::span<const std::byte> bytes) {
  return parse_number_record(bytes, batch_format(kind));
}

// The record has nothing but what was asked for.
void check_count(const NumberRecord& record, std::size_t expected) {
  if (record.numbers.size() != expected) {
    throw FormatError(record.format + ": has " + std::to_string(record.numbers.size()) + " numbers, not " +
                      std::to_string(expected));
  }
}

PayloadPtr read_scalar(const NumberRecord& record) {
  check_count(record, 1);
  return std::make_shared<Scalar>(record.real_at("value"));
}

PayloadPtr read_metrics(const NumberRecord& record) {
  auto metrics = std::make_shared<Metrics>();
  for (const auto& [name, number] : record.numbers) metrics->values.emplace_back(name, record.real_at(name));
  return metrics;
}

PayloadPtr read_cursor(const NumberRecord& record) {
  check_count(record, 2);
  auto cursor = std::make_shared<Cursor>();
  cursor->epoch = record.whole_at("epoch");
  cursor->offset = record.whole_at("offset");
  if (cursor->epoch < 0 || cursor->offset < 0) throw FormatError(record.format + ": a place before the first row");
  return cursor;
}

}  // namespace

PayloadPtr read_batch(Kind kind, std::span<const std::byte> bytes) {
  if (kind == Kind::scalar) return read_scalar(read_record(kind, bytes));
  if (kind == Kind::metrics) return read_metrics(read_record(kind, bytes));
  if (kind == Kind::cursor) return read_cursor(read_record(kind, bytes));
  BatchFile file(kind, bytes);
  if (kind == Kind::prompts) return whole_file(file, read_prompts(file));
  if (kind == Kind::examples) return whole_file(file, read_examples(file));
  if (kind == Kind::pairs) return whole_file(file, read_pairs(file));
  if (kind == Kind::traj) return whole_file(file, read_rollouts(file));
  return whole_file(file, read_numbers(file, kind));
}

}  // namespace rlflow
