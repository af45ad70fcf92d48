// How sequences are packed into the passes of a log-prob or training task.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/model/packed_rows.h"

namespace rlflow {

// One forward (and backward) pass: rows, and the tokens whose log-probabilities are wanted.
struct Chunk {
  PackedRows rows;
  std::vector<Target> targets;
  std::vector<std::int64_t> index;  // of each target in the caller's packed tokens
};

// Sequences end to end: row i is tokens[offsets[i] .. offsets[i+1]).
struct TokenRows {
  std::span<const std::int32_t> tokens;
  std::span<const std::int64_t> offsets;

  std::span<const std::int32_t> row(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return tokens.subspan(static_cast<std::size_t>(offsets[at]),
                          static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  }
};

// Packs responses (`selected`) with their prompts, group[i] the prompt of response i. Every response token becomes a
// target; `index` counts response tokens. In one chunk whatever sequences have in common stands once: prompts from
// their first token on, and responses to equal prompts. Sequences are packed in the order of their tokens, so the
// chunks depend on the tokens and `selected` alone. A chunk has at most `budget` rows, unless a single response needs
// more.
std::vector<Chunk> pack_responses(const TokenRows& prompts, const TokenRows& responses,
                                  std::span<const std::int32_t> group, std::span<const std::int64_t> selected,
                                  std::int64_t budget);

// Packs whole examples end to end; the tokens with mask 1 (never a row's first) become targets; `index` counts all
// tokens.
std::vector<Chunk> pack_examples(const TokenRows& examples, std::span<const std::uint8_t> mask,
                                 std::span<const std::int64_t> selected, std::int64_t budget);

}  // namespace rlflow
