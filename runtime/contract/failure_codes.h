// What can end a run or keep it from starting, by code: what `rlflow explain R0101` says.
#pragma once

#include <span>
#include <string_view>

namespace rlflow {

struct FailureInfo {
  std::string_view code;      // "R0101"
  std::string_view headline;  // lower case, no full stop
  std::string_view text;      // what it means and what to do
};

// Sorted by code. Every code that an Outcome or StoreError carries stands here, and no other (tested).
std::span<const FailureInfo> failure_codes();
const FailureInfo* find_failure(std::string_view code);  // null if there is none

}  // namespace rlflow
