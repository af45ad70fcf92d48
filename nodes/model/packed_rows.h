// The rows of one pass through the transformer: sequences as a trie, so that a common prefix stands once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rlflow {

// Rows [begin, begin+length): tokens that continue those of `parent`. A row sees the earlier rows of its own segment
// and all rows of its ancestors, so that its result is the same as in a sequence that stands alone.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int32_t parent = -1;   // index of an earlier segment; -1: the sequence begins here
  std::int64_t position = 0;  // of the first row: the rows of all ancestors
  // Rows of the prompt before this segment of a response, all of them; 0 in a prompt. Attention adds up over a prompt
  // and over what follows it on their own, as decoding does.
  std::int64_t prompt_length = 0;
};

struct PackedRows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;  // of each row in its sequence
  std::vector<Segment> segments;        // a segment's descendants follow it before any other does

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
  void clear() {
    tokens.clear();
    positions.clear();
    segments.clear();
  }
  // Appends a segment; returns its index. `parent` is the latest segment or one of its ancestors. What continues a
  // prompt is of the prompt too, or of a response to it; what continues a response is of that response.
  std::int32_t add(std::span<const std::int32_t> segment_tokens, std::int32_t parent = -1, bool response = false) {
    Segment segment{size(), static_cast<std::int64_t>(segment_tokens.size()), parent, 0, 0};
    if (parent >= 0) {
      const Segment& before = segments[static_cast<std::size_t>(parent)];
      segment.position = before.position + before.length;
      if (response) segment.prompt_length = before.prompt_length > 0 ? before.prompt_length : segment.position;
    }
    for (std::int64_t i = 0; i < segment.length; ++i)
      positions.push_back(static_cast<std::int32_t>(segment.position + i));
    tokens.insert(tokens.end(), segment_tokens.begin(), segment_tokens.end());
    segments.push_back(segment);
    return static_cast<std::int32_t>(segments.size()) - 1;
  }
};

// A token whose probability is wanted: predicted from the last hidden state of `row`. Several may share a row.
struct Target {
  std::int64_t row = 0;
  std::int32_t token = 0;
};

}  // namespace rlflow
