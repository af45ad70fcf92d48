// How lines of JSON become rows.
#include "nodes/data/jsonl.h"

#include <string_view>
#include <vector>

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
    find_rows();
    if (has(data.settings, "size")) take_first(int_at(data.settings, "size"));
  }

  std::optional<std::int64_t> size() const override { return static_cast<std::int64_t>(rows_.size()); }

  DataRow row(std::int64_t index) const override { return parsed(rows_[static_cast<std::size_t>(index)]); }

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
      parsed(line);
      rows_.push_back(line);
    }
    if (rows_.empty()) throw FormatError(name_ + ": has no rows");
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
    row.prompt = field(object, fields_.prompt, place);
    row.answer = field(object, fields_.answer, place);
    row.response = field(object, fields_.response, place);
    row.chosen = field(object, fields_.chosen, place);
    row.rejected = field(object, fields_.rejected, place);
    return row;
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
  std::vector<Line> rows_;
};

}  // namespace

std::unique_ptr<Dataset> open_jsonl(const PlanData& data, const std::filesystem::path& root) {
  return std::make_unique<Jsonl>(data, root / data.argument);
}

}  // namespace rlflow
