// How is one task of a run called? node × step × slot, written `traj:42` or `traj:42:3`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/contract/ids.h"

namespace rlflow {

struct TaskName {
  std::string node;
  Step step = 0;
  std::int32_t slot = 0;
  friend auto operator<=>(const TaskName&, const TaskName&) = default;
};

std::string to_text(const TaskName& task);                           // the slot is left out where it is 0
std::optional<TaskName> task_name_from_text(std::string_view text);  // nullopt unless it has one of the two forms

}  // namespace rlflow
