// How payloads are read back from bytes that nobody vouches for: every count and offset is checked before it is used.
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "nodes/batches.h"
#include "nodes/format/format_error.h"
#include "nodes/format/json.h"
#include "nodes/format/safetensors.h"

namespace rlflow {
namespace {

// The tensors of one payload. Each must be asked for exactly once, so that unknown ones are noticed.
class PayloadFile {
 public:
  PayloadFile(Kind kind, std::span<const std::byte> bytes) : file_(bytes, std::string(kind_name(kind)) + " artifact") {
    const std::string format = "rlflow." + std::string(kind_name(kind)) + "/1";
    if (metadata("format") != format) fail("its format is `" + metadata("format") + "`, expected `" + format + "`");
  }

  template <class T>
  std::vector<T> take(std::string_view name) {
    ++taken_;
    return file_.vector_at<T>(name);
  }
  const std::string& metadata(const std::string& key) const { return file_.metadata_at(key); }

  template <class T>
  T number(const std::string& key) const {
    const std::string& text = metadata(key);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("`" + key + "` is not a number: " + text);
    return value;
  }

  void finish() const {
    if (taken_ != file_.tensors().size()) fail("it holds tensors that its format does not name");
  }
  void require(bool condition, std::string_view rule) const {
    if (!condition) fail(std::string(rule));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw FormatError(file_.what() + ": " + why); }

  SafetensorsFile file_;
  std::size_t taken_ = 0;
};

// Offsets begin at 0, never fall, and end at `total`.
bool tiles(const std::vector<std::int64_t>& offsets, std::size_t total) {
  if (offsets.empty() || offsets.front() != 0) return false;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) return false;
  }
  return offsets.back() == static_cast<std::int64_t>(total);
}
bool at_most_one(const std::vector<std::uint8_t>& flags) {
  for (std::uint8_t flag : flags) {
    if (flag > 1) return false;
  }
  return true;
}

PackedTokens take_tokens(PayloadFile& file, const std::string& name) {
  PackedTokens rows;
  rows.tokens = file.take<std::int32_t>(name);
  rows.offsets = file.take<std::int64_t>(name + ".offsets");
  file.require(tiles(rows.offsets, rows.tokens.size()), "offsets of `" + name + "` do not tile it");
  for (std::int32_t token : rows.tokens) file.require(token >= 0, "`" + name + "` holds a negative token id");
  return rows;
}

std::vector<std::string> take_texts(PayloadFile& file, const std::string& name) {
  const auto bytes = file.take<std::uint8_t>(name);
  const auto offsets = file.take<std::int64_t>(name + ".offsets");
  file.require(tiles(offsets, bytes.size()), "offsets of `" + name + "` do not tile it");
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    texts.emplace_back(bytes.begin() + offsets[i - 1], bytes.begin() + offsets[i]);
  }
  return texts;
}

std::shared_ptr<const Prompts> take_prompts(PayloadFile& file) {
  auto prompts = std::make_shared<Prompts>();
  prompts->tokens = take_tokens(file, "prompts.tokens");
  prompts->source_row = file.take<std::int64_t>("prompts.source_row");
  prompts->text = take_texts(file, "prompts.text");
  prompts->answer = take_texts(file, "prompts.answer");
  const std::size_t rows = prompts->tokens.rows();
  file.require(prompts->source_row.size() == rows && prompts->text.size() == rows && prompts->answer.size() == rows,
               "its prompts differ in number");
  return prompts;
}

BatchPtr take_batch(PayloadFile& file) {
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = file.take<std::int32_t>("batch.group");
  batch->offsets = file.take<std::int64_t>("batch.offsets");
  batch->mask = file.take<std::uint8_t>("batch.mask");
  batch->finish = file.take<std::uint8_t>("batch.finish");
  batch->temperature = file.number<double>("temperature");
  file.require(batch->offsets.size() == batch->size() + 1 && tiles(batch->offsets, batch->mask.size()),
               "`batch.offsets` do not tile the response tokens");
  file.require(batch->finish.size() == batch->size() && at_most_one(batch->finish),
               "`batch.finish` is not one of 0, 1 a response");
  file.require(at_most_one(batch->mask), "`batch.mask` holds more than 0 and 1");
  for (std::size_t i = 0; i < batch->size(); ++i) {
    file.require(batch->group[i] >= 0 && (i == 0 || batch->group[i] >= batch->group[i - 1]),
                 "`batch.group` is not ascending");
  }
  file.require(batch->temperature >= 0, "`temperature` is negative");
  return batch;
}

PayloadPtr read_examples(PayloadFile& file) {
  auto examples = std::make_shared<Examples>();
  examples->tokens = take_tokens(file, "tokens");
  examples->loss_mask = file.take<std::uint8_t>("loss_mask");
  examples->source_row = file.take<std::int64_t>("source_row");
  file.require(examples->loss_mask.size() == examples->tokens.tokens.size() && at_most_one(examples->loss_mask),
               "`loss_mask` is not one of 0, 1 a token");
  file.require(examples->source_row.size() == examples->tokens.rows(), "`source_row` is not one a row");
  return examples;
}

PayloadPtr read_rollouts(PayloadFile& file) {
  auto rollouts = std::make_shared<Rollouts>();
  rollouts->batch = take_batch(file);
  rollouts->prompts = take_prompts(file);
  rollouts->tokens = file.take<std::int32_t>("tokens");
  rollouts->logprob = file.take<float>("logprob");
  rollouts->version = file.number<std::int64_t>("version");
  const BatchDescriptor& batch = *rollouts->batch;
  const auto n = static_cast<std::size_t>(batch.tokens());
  file.require(rollouts->tokens.size() == n && rollouts->logprob.size() == n, "its response tokens differ in number");
  for (std::int32_t token : rollouts->tokens) file.require(token >= 0, "`tokens` holds a negative token id");
  const auto prompts = static_cast<std::int32_t>(rollouts->prompts->tokens.rows());
  file.require(batch.group.empty() || batch.group.back() < prompts, "`batch.group` names a prompt that is not there");
  return rollouts;
}

PayloadPtr read_numbers(PayloadFile& file, Kind kind) {
  const std::string& per = file.metadata("per");
  file.require(per == "token" || per == "response", "`per` is neither `token` nor `response`");
  const bool per_token = per == "token";
  BatchPtr batch = take_batch(file);
  std::vector<float> data = file.take<float>("data");
  file.require(data.size() == (per_token ? static_cast<std::size_t>(batch->tokens()) : batch->size()),
               "`data` has another length than its batch");
  return std::make_shared<Numbers>(kind, std::move(batch), per_token, std::move(data));
}

PayloadPtr read_tensors(Kind kind, std::span<const std::byte> bytes) {
  PayloadFile file(kind, bytes);
  PayloadPtr payload;
  if (kind == Kind::prompts) {
    payload = take_prompts(file);
  } else if (kind == Kind::examples) {
    payload = read_examples(file);
  } else if (kind == Kind::traj) {
    payload = read_rollouts(file);
  } else {
    payload = read_numbers(file, kind);
  }
  file.finish();
  return payload;
}

double number_of(const nlohmann::json& value, const std::string& what) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  throw FormatError(what + ": expected a number, found " + value.dump());
}

// The object of a JSON payload, with exactly `format` and these keys.
nlohmann::json read_object(Kind kind, std::span<const std::byte> bytes, std::initializer_list<const char*> keys) {
  const std::string what = std::string(kind_name(kind)) + " artifact";
  nlohmann::json object = parse_json(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), what);
  if (!object.is_object() || object.size() != keys.size() + 1 || !object.contains("format") ||
      object["format"] != "rlflow." + std::string(kind_name(kind)) + "/1") {
    throw FormatError(what + ": not an object of format rlflow." + std::string(kind_name(kind)) + "/1");
  }
  for (const char* key : keys) {
    if (!object.contains(key)) throw FormatError(what + ": no `" + key + "`");
  }
  return object;
}

PayloadPtr read_metrics(std::span<const std::byte> bytes) {
  const nlohmann::json object = read_object(Kind::metrics, bytes, {"values"});
  if (!object["values"].is_object()) throw FormatError("metrics artifact: `values` is not an object");
  auto metrics = std::make_shared<Metrics>();
  for (const auto& [name, value] : object["values"].items()) {
    metrics->values.emplace_back(name, number_of(value, "metrics artifact, `" + name + "`"));
  }
  return metrics;
}

PayloadPtr read_cursor(std::span<const std::byte> bytes) {
  const nlohmann::json object = read_object(Kind::cursor, bytes, {"epoch", "offset"});
  auto cursor = std::make_shared<Cursor>();
  for (const auto& [key, member] : {std::pair{"epoch", &Cursor::epoch}, std::pair{"offset", &Cursor::offset}}) {
    const nlohmann::json& value = object[key];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      throw FormatError("cursor artifact: `" + std::string(key) + "` is not a whole number from 0");
    }
    (*cursor).*member = value.get<std::int64_t>();
  }
  return cursor;
}

}  // namespace

PayloadPtr read_batch(Kind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case Kind::prompts:
    case Kind::examples:
    case Kind::traj:
    case Kind::reward:
    case Kind::logp:
    case Kind::value:
    case Kind::adv:
    case Kind::returns: return read_tensors(kind, bytes);
    case Kind::pairs: throw FormatError("pairs artifact: this build has no format for it");
    case Kind::scalar:
      return std::make_shared<Scalar>(number_of(read_object(kind, bytes, {"value"})["value"], "scalar artifact"));
    case Kind::metrics: return read_metrics(bytes);
    case Kind::cursor: return read_cursor(bytes);
  }
  throw FormatError("an artifact of an unknown kind");
}

}  // namespace rlflow
