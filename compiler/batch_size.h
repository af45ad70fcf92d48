// How much a node has before it in a step, as far as the program fixes it: rows of the batch, tokens of a sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/pipeline.h"

namespace rlflow {

// A setting that counts in this unit; none where it is absent, 0, or of another unit.
std::optional<std::int64_t> quantity(const Settings& settings, const char* name, Unit unit);

// The batch dimension of what the node reads (its first edge); null where it is not known.
const Dim* batch_of(const Pipeline& pipeline, const FlowNode& node);
// "B = prompts 32 x n 8 = 256". The size is known.
std::string arithmetic_of(const Pipeline& pipeline, const Dim& batch);

// The most tokens that one sequence of the node can have.
struct LongestSequence {
  std::int64_t tokens = 0;   // 0: the program says nothing
  bool with_prompt = false;  // false: prompts are not bounded, and not counted
  std::string note;          // "max_prompt 1,024 + max_new 4,096 = 5,120"
};
LongestSequence longest_sequence(const Pipeline& pipeline, NodeId id);

}  // namespace rlflow
