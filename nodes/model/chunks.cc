// How sequences are packed into the passes of a log-prob or training task.
#include "nodes/model/chunks.h"

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

bool is_full(const std::vector<Chunk>& chunks, std::int64_t more, std::int64_t budget) {
  return chunks.empty() || (chunks.back().rows.size() > 0 && chunks.back().rows.size() + more > budget);
}

}  // namespace

std::vector<Chunk> pack_responses(const TokenRows& prompts, const TokenRows& responses,
                                  std::span<const std::int32_t> group, std::span<const std::int64_t> selected,
                                  std::int64_t budget) {
  std::vector<Chunk> chunks;
  std::int32_t prompt = -1, prefix = -1;  // the prompt that stands last in the last chunk, and its segment
  for (std::int64_t i : selected) {
    const std::span<const std::int32_t> tokens = responses.row(i);
    if (tokens.empty()) continue;
    const std::int32_t own = group[static_cast<std::size_t>(i)];
    const std::span<const std::int32_t> prompt_tokens = prompts.row(own);
    RLFLOW_CHECK(!prompt_tokens.empty(), "a response without a prompt");
    const std::span<const std::int32_t> fed = tokens.first(tokens.size() - 1);  // nothing is predicted from the last
    const std::size_t more = fed.size() + (own == prompt ? 0 : prompt_tokens.size());
    if (is_full(chunks, static_cast<std::int64_t>(more), budget)) {
      chunks.emplace_back();
      prompt = -1;
    }
    Chunk& chunk = chunks.back();
    if (own != prompt) {
      prefix = chunk.rows.add(prompt_tokens);
      prompt = own;
    }
    const Segment& before = chunk.rows.segments[static_cast<std::size_t>(prefix)];
    const std::int64_t last_of_prompt = before.begin + before.length - 1;
    const std::int64_t begin = chunk.rows.size();
    if (!fed.empty()) chunk.rows.add(fed, prefix);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const auto offset = static_cast<std::int64_t>(t);
      chunk.targets.push_back({t == 0 ? last_of_prompt : begin + offset - 1, tokens[t]});
      chunk.index.push_back(responses.offsets[static_cast<std::size_t>(i)] + offset);
    }
  }
  return chunks;
}

std::vector<Chunk> pack_examples(const TokenRows& examples, std::span<const std::uint8_t> mask,
                                 std::span<const std::int64_t> selected, std::int64_t budget) {
  std::vector<Chunk> chunks;
  for (std::int64_t i : selected) {
    const std::span<const std::int32_t> tokens = examples.row(i);
    if (tokens.size() < 2) continue;
    if (is_full(chunks, static_cast<std::int64_t>(tokens.size()) - 1, budget)) chunks.emplace_back();
    Chunk& chunk = chunks.back();
    const std::int64_t begin = chunk.rows.size();
    chunk.rows.add(tokens.first(tokens.size() - 1));
    for (std::size_t t = 1; t < tokens.size(); ++t) {
      const std::int64_t index = examples.offsets[static_cast<std::size_t>(i)] + static_cast<std::int64_t>(t);
      if (mask[static_cast<std::size_t>(index)] == 0) continue;
      chunk.targets.push_back({begin + static_cast<std::int64_t>(t) - 1, tokens[t]});
      chunk.index.push_back(index);
    }
  }
  return chunks;
}

}  // namespace rlflow
