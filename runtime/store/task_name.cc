// Text of task names.
#include "runtime/store/task_name.h"

#include <charconv>

namespace rlflow {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::string to_text(const TaskName& task) {
  std::string text = task.node + ":" + std::to_string(task.step);
  return task.slot == 0 ? text : text + ":" + std::to_string(task.slot);
}

std::optional<TaskName> task_name_from_text(std::string_view text) {
  std::size_t first = text.find(':');
  if (first == 0 || first == std::string_view::npos) return std::nullopt;
  TaskName task{std::string(text.substr(0, first)), 0, 0};
  std::string_view rest = text.substr(first + 1);
  std::size_t second = rest.find(':');
  auto step = whole_number(rest.substr(0, second));
  auto slot = second == std::string_view::npos ? std::optional<std::int64_t>(0) : whole_number(rest.substr(second + 1));
  if (!step || !slot || *slot > INT32_MAX) return std::nullopt;
  task.step = *step;
  task.slot = static_cast<std::int32_t>(*slot);
  return task;
}

}  // namespace rlflow
