// Byte-pair encoding: a piece of text as tokens, by merging pairs of neighbours in the order of their ranks
// (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016, algorithm 1).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/token_table.h"

namespace rlflow {

struct PairMerge {
  std::int32_t left, right, made;  // token ids; the merge's rank is its place in the list
};

struct BytePairRules {
  std::vector<std::string> texts;  // by token id: the bytes that the token stands for in a piece; empty: it never does
  std::vector<PairMerge> merges;   // no pair twice
  bool bytes = false;              // a piece begins as its bytes; otherwise as its characters
  bool byte_fallback = false;      // a character without a token becomes its bytes, by byte_tokens
  bool whole_first = false;        // a piece that is a token is that token, whatever the merges say (ignore_merges)
  bool fuse_unknown = false;       // unknown neighbours become one unknown token
  std::int32_t unknown = -1;       // for what has no token; -1: the piece cannot be written
  std::array<std::int32_t, 256> byte_tokens{};  // of byte_fallback
};

// Immutable but for what it remembers of its tokens; any number of threads may use it. O(n log n) in a piece's length.
class BytePairs {
 public:
  explicit BytePairs(BytePairRules rules);
  BytePairs(const BytePairs&) = delete;  // table_ points into rules_
  BytePairs& operator=(const BytePairs&) = delete;

  // Appends the tokens of `piece` to `ids`. False: a character has no token, its byte is *fault, and `ids` is as it was
  // or longer.
  bool encode(std::string_view piece, std::vector<std::int32_t>& ids, std::size_t* fault) const;

 private:
  struct Made {
    std::uint32_t rank;
    std::int32_t id;
  };
  struct Slot {
    std::uint64_t pair = kNoPair;
    Made made{};
  };
  enum class Whole : std::uint8_t { unasked, yes, no };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

  Made made_of(std::int32_t left, std::int32_t right) const;
  bool begin(std::string_view piece, std::vector<std::int32_t>& symbols, std::size_t* fault) const;
  void merge(std::vector<std::int32_t>& ids, std::size_t first) const;
  void merge_few(std::span<std::int32_t> symbols, std::size_t& count) const;
  void merge_many(std::span<std::int32_t> symbols, std::size_t& count) const;
  bool is_whole(std::int32_t id) const;

  BytePairRules rules_;
  TokenTable table_;
  std::vector<Slot> slots_;                 // of pairs; a power of two, at most half full
  std::array<std::int32_t, 256> single_{};  // token of each byte alone, -1: none
  // Whether a token's own text is written by that token alone. Found when first asked: the answer is always the same.
  std::unique_ptr<std::atomic<Whole>[]> whole_;
};

}  // namespace rlflow
