// How lines of JSON become rows.
#include "nodes/data/jsonl.h"

#include <string_view>
#include <utility>
#include <vector>

#include "nodes/data/placeholders.h"
#include "nodes/format/file.h"
#include "nodes/format/format_error.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

// Where a row's parts stand in an object; an empty name: the data set has no such part.
struct Fields {
  std::string prompt, answer, response, chosen, rejected;
};

std::string name_at(const Attributes& settings, const char* name) {
  return has(settings, name) ? text_at(settings, name) : std::string();
}

class Jsonl final : public Dataset {
 public:
  Jsonl(const PlanData& data, const std::filesystem::path& path) : name_(data.argument), file_(path) {
    fields_ = {text_at(data.settings, "prompt"), name_at(data.settings, "answer"), name_at(data.settings, "response"),
               name_at(data.settings, "chosen"), name_at(data.settings, "rejected")};
    prefill_ = name_at(data.settings, "prefill");
    skips_ = has(data.settings, "malformed") && text_at(data.settings, "malformed") == "skip";
    find_rows();
    if (has(data.settings, "size")) take_first(int_at(data.settings, "size"));
  }

  std::optional<std::int64_t> size() const override { return static_cast<std::int64_t>(rows_.size()); }

  DataRow row(std::int64_t index) const override { return parsed(rows_[static_cast<std::size_t>(index)]); }

  std::vector<std::string> warnings() const override {
    if (skipped_ == 0) return {};
    return {name_ + ": " + std::to_string(skipped_) + " of " + std::to_string(skipped_ + rows_.size()) +
            " lines are left out (`malformed = skip`); the first: " + first_skipped_};
  }

  std::string fields(std::int64_t index) const override {
    const Line& line = rows_[static_cast<std::size_t>(index)];
    return std::string(text().substr(line.begin, line.length));
  }

 private:
  struct Line {
    std::size_t begin, length;
    std::int64_t number;  // from 1
  };

  std::string_view text() const { return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()}; }

  void find_rows() {
    std::int64_t number = 0;
    for (std::size_t begin = 0; begin < text().size();) {
      const std::size_t end = std::min(text().find('\n', begin), text().size());
      const Line line{begin, end - begin, ++number};
      begin = end + 1;
      if (text().substr(line.begin, line.length).find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (readable(line)) rows_.push_back(line);
    }
    if (skipped_ > rows_.size()) {
      throw FormatError(name_ + ": more lines cannot be read (" + std::to_string(skipped_) + ") than can (" +
                        std::to_string(rows_.size()) + "), so none is skipped; the first: " + first_skipped_);
    }
    if (rows_.empty()) throw FormatError(name_ + ": has no rows");
  }

  bool readable(const Line& line) {
    try {
      parsed(line);
      return true;
    } catch (const FormatError& error) {
      if (!skips_) throw;
      if (skipped_++ == 0) first_skipped_ = error.what();
      return false;
    }
  }

  void take_first(std::int64_t size) {
    if (size > static_cast<std::int64_t>(rows_.size())) {
      throw FormatError(name_ + ": has " + std::to_string(rows_.size()) + " rows, `size` asks for " +
                        std::to_string(size));
    }
    rows_.resize(static_cast<std::size_t>(size));
  }

  DataRow parsed(const Line& line) const {
    const std::string place = name_ + ":" + std::to_string(line.number);
    const nlohmann::json object = parse_json(text().substr(line.begin, line.length), place);
    if (!object.is_object()) throw FormatError(place + ": is not an object");
    DataRow row;
    read_prompt(object, place, row);
    row.answer = field(object, fields_.answer, place);
    row.response = response(object, fields_.response, place);
    row.chosen = response(object, fields_.chosen, place);
    row.rejected = response(object, fields_.rejected, place);
    try {
      row.prefill = filled(prefill_, [&](const std::string& name) { return field(object, name, place); });
    } catch (const FormatError& error) {
      throw FormatError("`prefill`: " + std::string(error.what()));
    }
    return row;
  }

  void read_prompt(const nlohmann::json& object, const std::string& place, DataRow& row) const {
    auto found = object.find(fields_.prompt);
    if (found == object.end() || !found->is_array()) {
      row.prompt = field(object, fields_.prompt, place);
      return;
    }
    row.messages = messages(*found, place + ": field " + json_quoted(fields_.prompt));
    for (const ChatMessage& message : row.messages) {
      if (message.role == "user") row.prompt = message.content;
    }
  }

  static std::vector<ChatMessage> messages(const nlohmann::json& list, const std::string& place) {
    std::vector<ChatMessage> messages;
    for (const nlohmann::json& entry : list) {
      const bool whole = entry.is_object() && entry.contains("role") && entry["role"].is_string() &&
                         entry.contains("content") && entry["content"].is_string();
      if (!whole) throw FormatError(place + ": message " + std::to_string(messages.size()) + " is not {role, content}");
      for (const auto& item : entry.items()) {
        if (item.key() == "role" || item.key() == "content") continue;
        throw FormatError(place + ": message " + std::to_string(messages.size()) + " has the key " +
                          json_quoted(item.key()) + ", which is not supported; a message is {role, content}");
      }
      messages.push_back({entry["role"].get<std::string>(), entry["content"].get<std::string>()});
    }
    if (messages.empty()) throw FormatError(place + ": has no message");
    return messages;
  }

  // A text, or a list with one message of the assistant.
  static std::string response(const nlohmann::json& object, const std::string& name, const std::string& place) {
    auto found = object.find(name);
    if (name.empty() || found == object.end() || !found->is_array()) return field(object, name, place);
    const std::string where = place + ": field " + json_quoted(name);
    std::vector<ChatMessage> list = messages(*found, where);
    if (list.size() != 1 || list[0].role != "assistant")
      throw FormatError(where + " is not one message of the assistant");
    return std::move(list[0].content);
  }

  // A text; a number stands for its digits, as answers often do.
  static std::string field(const nlohmann::json& object, const std::string& name, const std::string& place) {
    if (name.empty()) return "";
    auto found = object.find(name);
    if (found == object.end()) throw FormatError(place + ": has no field " + json_quoted(name));
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number()) return found->dump();
    throw FormatError(place + ": field " + json_quoted(name) + " is neither a text nor a number");
  }

  std::string name_;
  MappedFile file_;
  Fields fields_;
  std::string prefill_, first_skipped_;
  bool skips_ = false;
  std::size_t skipped_ = 0;
  std::vector<Line> rows_;
};

}  // namespace

std::unique_ptr<Dataset> open_jsonl(const PlanData& data, const std::filesystem::path& root) {
  return std::make_unique<Jsonl>(data, root / data.argument);
}

}  // namespace rlflow
