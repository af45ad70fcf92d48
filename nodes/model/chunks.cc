// How sequences are packed into the passes of a log-prob or training task.
#include "nodes/model/chunks.h"

#include <algorithm>
#include <utility>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

using Tokens = std::span<const std::int32_t>;

// The rows of one sequence, first those of its prompt.
struct Sequence {
  Tokens prompt, response;
  std::int64_t source = 0;  // the caller's number of it

  std::int64_t size() const { return static_cast<std::int64_t>(prompt.size() + response.size()); }
  std::int32_t token(std::int64_t position) const {
    const auto at = static_cast<std::size_t>(position);
    return at < prompt.size() ? prompt[at] : response[at - prompt.size()];
  }
};

bool precedes(const Sequence& a, const Sequence& b) {
  const auto order = [](Tokens x, Tokens y) {
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  };
  if (const auto prompts = order(a.prompt, b.prompt); prompts != 0) return prompts < 0;
  if (const auto responses = order(a.response, b.response); responses != 0) return responses < 0;
  return a.source < b.source;
}

std::int64_t common(Tokens a, Tokens b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

// Rows that two sequences have in common. What follows a prompt is a row of another kind than a prompt's own.
std::int64_t shared_rows(const Sequence& a, const Sequence& b) {
  const std::int64_t prompt = common(a.prompt, b.prompt);
  const bool equal = a.prompt.size() == b.prompt.size() && prompt == static_cast<std::int64_t>(a.prompt.size());
  return equal ? prompt + common(a.response, b.response) : prompt;
}

// Adds sequences, in their order, to the trie of one chunk.
class TrieBuilder {
 public:
  explicit TrieBuilder(Chunk& chunk) : chunk_(chunk) {}

  // `shared`: rows that sequences[i] has in common with the one before it. Calls use(i, rows of its positions).
  template <class Use>
  void add(std::span<const Sequence> sequences, std::span<const std::int64_t> shared, const Use& use) {
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      while (!path_.empty() && end_of(path_.back()) > shared[i]) path_.pop_back();
      rows_.resize(static_cast<std::size_t>(shared[i]));
      std::int64_t begin = shared[i];
      for (std::int64_t end : ends(sequences[i], shared, i)) {
        add_segment(sequences[i], begin, end);
        begin = end;
      }
      use(sequences[i], std::span<const std::int64_t>(rows_));
    }
  }

 private:
  std::int64_t end_of(std::int32_t segment) const {
    const Segment& s = chunk_.rows.segments[static_cast<std::size_t>(segment)];
    return s.position + s.length;
  }

  // Where the segments of the rows that sequence i adds end, ascending: where later sequences leave it, where its
  // prompt ends, and where it ends itself.
  static std::vector<std::int64_t> ends(const Sequence& sequence, std::span<const std::int64_t> shared, std::size_t i) {
    std::int64_t least = sequence.size();
    std::vector<std::int64_t> ends{static_cast<std::int64_t>(sequence.prompt.size()), least};
    for (std::size_t later = i + 1; later < shared.size() && shared[later] > shared[i]; ++later) {
      least = std::min(least, shared[later]);
      ends.push_back(least);
    }
    std::erase_if(ends, [&](std::int64_t end) { return end <= shared[i]; });
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  void add_segment(const Sequence& sequence, std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t position = begin; position < end; ++position) {
      rows_.push_back(chunk_.rows.size() + position - begin);
      tokens.push_back(sequence.token(position));
    }
    const bool response = begin >= static_cast<std::int64_t>(sequence.prompt.size());
    path_.push_back(chunk_.rows.add(tokens, path_.empty() ? -1 : path_.back(), response));
  }

  Chunk& chunk_;
  std::vector<std::int32_t> path_;  // segments from the root to the latest row
  std::vector<std::int64_t> rows_;  // of each position of the latest sequence
};

}  // namespace

std::vector<Chunk> pack_responses(const TokenRows& prompts, const TokenRows& responses,
                                  std::span<const std::int32_t> group, std::span<const std::int64_t> selected,
                                  std::int64_t budget) {
  std::vector<Sequence> sequences;
  for (std::int64_t i : selected) {
    const Tokens tokens = responses.row(i);
    if (tokens.empty()) continue;
    const Tokens prompt = prompts.row(group[static_cast<std::size_t>(i)]);
    RLFLOW_CHECK(!prompt.empty(), "a response without a prompt");
    sequences.push_back({prompt, tokens.first(tokens.size() - 1), i});  // nothing is predicted from the last
  }
  std::sort(sequences.begin(), sequences.end(), precedes);
  std::vector<Chunk> chunks;
  for (std::size_t begin = 0; begin < sequences.size();) {
    std::int64_t rows = sequences[begin].size();
    std::vector<std::int64_t> shared{0};
    std::size_t end = begin + 1;
    for (; end < sequences.size(); ++end) {
      const std::int64_t common_rows = shared_rows(sequences[end - 1], sequences[end]);
      rows += sequences[end].size() - common_rows;
      if (rows > budget) break;
      shared.push_back(common_rows);
    }
    Chunk& chunk = chunks.emplace_back();
    TrieBuilder trie(chunk);
    trie.add(std::span(sequences).subspan(begin, end - begin), shared,
             [&](const Sequence& sequence, std::span<const std::int64_t> at) {
               const Tokens tokens = responses.row(sequence.source);
               for (std::size_t t = 0; t < tokens.size(); ++t) {
                 chunk.targets.push_back({at[sequence.prompt.size() + t - 1], tokens[t]});
                 chunk.index.push_back(responses.offsets[static_cast<std::size_t>(sequence.source)] +
                                       static_cast<std::int64_t>(t));
               }
             });
    begin = end;
  }
  return chunks;
}

std::vector<Chunk> pack_examples(const TokenRows& examples, std::span<const std::uint8_t> mask,
                                 std::span<const std::int64_t> selected, std::int64_t budget) {
  std::vector<Chunk> chunks;
  for (std::int64_t i : selected) {
    const Tokens tokens = examples.row(i);
    if (tokens.size() < 2) continue;
    const std::int64_t more = static_cast<std::int64_t>(tokens.size()) - 1;
    if (chunks.empty() || (chunks.back().rows.size() > 0 && chunks.back().rows.size() + more > budget))
      chunks.emplace_back();
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
