// Which pages of a device's cache of keys and values each sequence holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nodes/cuda/decode_rows.h"

namespace rlflow {

inline std::int64_t pages_for(std::int64_t tokens) { return (tokens + cuda::kPageTokens - 1) / cuda::kPageTokens; }

// A prompt, or the tokens of one response, as far as they have been read.
struct PagedSequence {
  std::vector<std::int32_t> pages;
  std::int64_t cached = 0;  // tokens whose keys and values are there
};

// Numbers of free pages. One thread at a time.
class PagePool {
 public:
  void reset(std::int64_t pages) {
    free_.clear();
    for (std::int64_t page = pages; page-- > 0;) free_.push_back(static_cast<std::int32_t>(page));
    held_ = peak_ = 0;
  }
  // Extends `sequence` to hold `tokens`; false, and nothing taken, where too few are free.
  bool extend(PagedSequence& sequence, std::int64_t tokens) {
    const std::int64_t missing = missing_for(sequence, tokens);
    if (missing > available()) return false;
    for (std::int64_t i = 0; i < missing; ++i) {
      sequence.pages.push_back(free_.back());
      free_.pop_back();
    }
    held_ += missing;
    peak_ = std::max(peak_, held_);
    return true;
  }
  // Takes all pages back.
  void release(PagedSequence& sequence) {
    held_ -= static_cast<std::int64_t>(sequence.pages.size());
    free_.insert(free_.end(), sequence.pages.rbegin(), sequence.pages.rend());
    sequence.pages.clear();
    sequence.cached = 0;
  }

  static std::int64_t missing_for(const PagedSequence& sequence, std::int64_t tokens) {
    return std::max<std::int64_t>(0, pages_for(tokens) - static_cast<std::int64_t>(sequence.pages.size()));
  }
  std::int64_t available() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t held() const { return held_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::vector<std::int32_t> free_;
  std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace rlflow
