// A data set as take and evaluate see it: rows by index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodes/format/chat_template.h"
#include "runtime/contract/plan.h"

namespace rlflow {

struct DataRow {
  std::string prompt;                 // as a judge reads it; of a conversation the user's last message
  std::vector<ChatMessage> messages;  // the prompt as a conversation; empty where it is one text
  std::string prefill;                // what the assistant's turn begins with, before the response
  std::string answer;                 // what a judge compares with; empty where the data has none
  std::string response;               // what an example imitates; empty where the data has none
  std::string chosen, rejected;       // of a pair; empty where the data has none
};

// Immutable: any number of threads may read it. Row i is always the same row.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::optional<std::int64_t> size() const = 0;  // rows of an epoch; nullopt: unbounded
  virtual DataRow row(std::int64_t index) const = 0;     // 0 <= index, < size()
  // What a person should know of the data as a whole: rows that could not be read.
  virtual std::vector<std::string> warnings() const { return {}; }
  // All fields of the row as a JSON object, also those that no setting names; empty where rows have none.
  virtual std::string fields(std::int64_t index) const {
    static_cast<void>(index);
    return {};
  }
};

// Throws std::runtime_error naming the declaration and what is wrong with it.
std::unique_ptr<Dataset> open_dataset(const PlanData& data, const std::filesystem::path& root);

}  // namespace rlflow
