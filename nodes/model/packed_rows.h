// The rows of one pass through the transformer: several sequences end to end, common prefixes once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rlflow {

// Rows [begin, begin+length). A segment attends to itself causally and to all rows of its prefix.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int32_t prefix = -1;  // index of an earlier segment without a prefix of its own; -1: none
};

struct PackedRows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;  // of each row in its sequence
  std::vector<Segment> segments;

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
  void clear() {
    tokens.clear();
    positions.clear();
    segments.clear();
  }
  // Appends a segment; returns its index. Positions go on from the end of the prefix.
  std::int32_t add(std::span<const std::int32_t> segment_tokens, std::int32_t prefix = -1) {
    const std::int64_t first = prefix < 0 ? 0 : segments[static_cast<std::size_t>(prefix)].length;
    segments.push_back({size(), static_cast<std::int64_t>(segment_tokens.size()), prefix});
    for (std::size_t i = 0; i < segment_tokens.size(); ++i) {
      positions.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(i)));
    }
    tokens.insert(tokens.end(), segment_tokens.begin(), segment_tokens.end());
    return static_cast<std::int32_t>(segments.size()) - 1;
  }
};

// A token whose probability is wanted: predicted from the last hidden state of `row`. Several may share a row.
struct Target {
  std::int64_t row = 0;
  std::int32_t token = 0;
};

}  // namespace rlflow
