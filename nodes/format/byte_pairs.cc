// Merging: a scan for the lowest rank in short pieces, a heap in long ones.
#include "nodes/format/byte_pairs.h"

#include <algorithm>
#include <bit>
#include <queue>

#include "nodes/format/unicode_text.h"

namespace rlflow {
namespace {

constexpr std::size_t kFewSymbols = 40;  // up to here a scan is faster than a heap

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t spread(std::uint64_t pair) {
  pair *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(pair ^ pair >> 32);
}

}  // namespace

BytePairs::BytePairs(BytePairRules rules)
    : rules_(std::move(rules)),
      table_(rules_.texts),
      slots_(std::bit_ceil(2 * rules_.merges.size() + 2)),
      whole_(std::make_unique<std::atomic<Whole>[]>(rules_.texts.size())) {
  for (std::size_t rank = 0; rank < rules_.merges.size(); ++rank) {
    const PairMerge& merge = rules_.merges[rank];
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::size_t at = spread(pair) & (slots_.size() - 1);
    while (slots_[at].pair != kNoPair) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {pair, {static_cast<std::uint32_t>(rank), merge.made}};
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    single_[byte] = table_.find({&text, 1});
  }
}

BytePairs::Made BytePairs::made_of(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t at = spread(pair) & (slots_.size() - 1); slots_[at].pair != kNoPair;
       at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return slots_[at].made;
  }
  return {kNoRank, -1};
}

bool BytePairs::encode(std::string_view piece, std::vector<std::int32_t>& ids, std::size_t* fault) const {
  const std::int32_t whole = table_.find(piece);
  if (whole >= 0 && (rules_.whole_first || is_whole(whole))) {
    ids.push_back(whole);
    return true;
  }
  const std::size_t first = ids.size();
  if (!begin(piece, ids, fault)) return false;
  merge(ids, first);
  return true;
}

bool BytePairs::is_whole(std::int32_t id) const {
  std::atomic<Whole>& known = whole_[static_cast<std::size_t>(id)];
  Whole answer = known.load(std::memory_order_relaxed);
  if (answer == Whole::unasked) {
    std::vector<std::int32_t> ids;
    std::size_t fault = 0;
    bool written = begin(rules_.texts[static_cast<std::size_t>(id)], ids, &fault);
    if (written) merge(ids, 0);
    answer = written && ids.size() == 1 && ids[0] == id ? Whole::yes : Whole::no;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == Whole::yes;
}

// The tokens that a piece begins as.
bool BytePairs::begin(std::string_view piece, std::vector<std::int32_t>& symbols, std::size_t* fault) const {
  bool after_unknown = false;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t start = at;
    if (rules_.bytes) {
      ++at;
    } else {
      next_character(piece, at);
    }
    const std::string_view text = piece.substr(start, at - start);
    const std::int32_t id = text.size() == 1 ? single_[static_cast<unsigned char>(text[0])] : table_.find(text);
    const bool known = id >= 0 || rules_.byte_fallback;
    if (id >= 0) {
      symbols.push_back(id);
    } else if (rules_.byte_fallback) {
      for (const char byte : text) symbols.push_back(rules_.byte_tokens[static_cast<unsigned char>(byte)]);
    } else if (rules_.unknown < 0) {
      *fault = start;
      return false;
    } else if (!rules_.fuse_unknown || !after_unknown) {
      symbols.push_back(rules_.unknown);
    }
    after_unknown = !known;
  }
  return true;
}

void BytePairs::merge(std::vector<std::int32_t>& ids, std::size_t first) const {
  const std::span<std::int32_t> symbols = std::span(ids).subspan(first);
  std::size_t count = symbols.size();
  if (count <= kFewSymbols) {
    merge_few(symbols, count);
  } else {
    merge_many(symbols, count);
  }
  ids.resize(first + count);
}

void BytePairs::merge_few(std::span<std::int32_t> symbols, std::size_t& count) const {
  if (count < 2) return;
  std::array<Made, kFewSymbols> made;  // of symbols i and i + 1
  for (std::size_t i = 0; i + 1 < count; ++i) made[i] = made_of(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (made[i].rank < made[best].rank) best = i;
    }
    if (made[best].rank == kNoRank) return;
    symbols[best] = made[best].id;
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      made[i] = made[i + 1];
    }
    --count;
    if (best > 0) made[best - 1] = made_of(symbols[best - 1], symbols[best]);
    if (best + 1 < count) made[best] = made_of(symbols[best], symbols[best + 1]);
  }
}

// A list of symbols with a heap of the pairs in it, lowest rank first, then leftmost. An entry whose pair is no more
// what stands at its place is skipped.
void BytePairs::merge_many(std::span<std::int32_t> symbols, std::size_t& count) const {
  struct Link {
    std::uint32_t before, after;
    Made made;  // of this symbol and the one after it
  };
  constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  const auto size = static_cast<std::uint32_t>(count);
  std::vector<Link> links(count);
  std::vector<std::uint64_t> first;  // rank, place
  for (std::uint32_t i = 0; i < size; ++i) {
    const Made made = i + 1 < size ? made_of(symbols[i], symbols[i + 1]) : Made{kNoRank, -1};
    links[i] = {i == 0 ? kEnd : i - 1, i + 1 < size ? i + 1 : kEnd, made};
    if (made.rank != kNoRank) first.push_back(static_cast<std::uint64_t>(made.rank) << 32 | i);
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue(std::greater<>(),
                                                                                       std::move(first));
  auto pair_at = [&](std::uint32_t i) {
    const std::uint32_t after = links[i].after;
    links[i].made = after == kEnd ? Made{kNoRank, -1} : made_of(symbols[i], symbols[after]);
    if (links[i].made.rank != kNoRank) queue.push(static_cast<std::uint64_t>(links[i].made.rank) << 32 | i);
  };
  while (!queue.empty()) {
    const auto i = static_cast<std::uint32_t>(queue.top());
    const auto rank = static_cast<std::uint32_t>(queue.top() >> 32);
    queue.pop();
    if (links[i].made.rank != rank) continue;
    const std::uint32_t gone = links[i].after;
    symbols[i] = links[i].made.id;
    links[i].after = links[gone].after;
    links[gone].made.rank = kNoRank;
    if (links[i].after != kEnd) links[links[i].after].before = i;
    pair_at(i);
    if (links[i].before != kEnd) pair_at(links[i].before);
  }
  count = 0;
  for (std::uint32_t i = 0; i != kEnd; i = links[i].after) symbols[count++] = symbols[i];
}

}  // namespace rlflow
