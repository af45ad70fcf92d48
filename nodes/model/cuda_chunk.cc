// A chunk as device kernels read it.
#include "nodes/model/cuda_chunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }

cuda::RowSpan span_of(const PackedRows& rows, const Segment& segment) {
  if (segment.length == 0) return {int32(segment.begin), 0, 0};
  return {int32(segment.begin), int32(segment.length), rows.positions[static_cast<std::size_t>(segment.begin)]};
}

// The spans of each segment's chain of prefixes, its own last, and those of all that have it in their chain, its own
// first.
struct Families {
  explicit Families(const PackedRows& rows) : chains(rows.segments.size()), followers(rows.segments.size()) {
    for (std::size_t s = 0; s < rows.segments.size(); ++s) {
      const Segment& segment = rows.segments[s];
      if (segment.parent >= 0) chains[s] = chains[static_cast<std::size_t>(segment.parent)];
      chains[s].push_back(static_cast<std::int32_t>(s));
      for (std::int32_t of : chains[s]) followers[static_cast<std::size_t>(of)].push_back(static_cast<std::int32_t>(s));
    }
  }
  std::vector<std::vector<std::int32_t>> chains, followers;
};

struct Work {
  cuda::RowTile tile;
  std::int64_t size;  // rows met
};

// Long tiles first, so that none begins when the others have ended.
std::vector<cuda::RowTile> by_size(std::vector<Work> work) {
  std::stable_sort(work.begin(), work.end(), [](const Work& a, const Work& b) { return a.size > b.size; });
  std::vector<cuda::RowTile> tiles;
  for (const Work& each : work) tiles.push_back(each.tile);
  return tiles;
}

struct Tiles {
  std::vector<cuda::RowTile> queries, keys;
  std::vector<cuda::RowSpan> spans;
};

// Calls use(first, count) for the tiles of a segment.
template <class Use>
void cut(const Segment& segment, std::int32_t most, const Use& use) {
  for (std::int64_t first = 0; first < segment.length; first += most) {
    use(int32(first), int32(std::min<std::int64_t>(most, segment.length - first)));
  }
}

Tiles tiles_of(const PackedRows& rows, cuda::TileRows most) {
  const Families families(rows);
  Tiles tiles;
  std::vector<Work> queries, keys;
  for (std::size_t s = 0; s < rows.segments.size(); ++s) {
    const Segment& segment = rows.segments[s];
    const cuda::RowSpan own = span_of(rows, segment);
    const std::int32_t chain = int32(static_cast<std::int64_t>(tiles.spans.size()));
    for (std::int32_t of : families.chains[s]) {
      tiles.spans.push_back(span_of(rows, rows.segments[static_cast<std::size_t>(of)]));
    }
    const std::int32_t chain_end = int32(static_cast<std::int64_t>(tiles.spans.size()));
    cut(segment, most.queries, [&](std::int32_t first, std::int32_t count) {
      queries.push_back(
          {{{own.begin + first, count, own.position + first}, chain, chain_end}, own.position + first + count});
    });
    std::int64_t following = 0;
    for (std::int32_t of : families.followers[s]) following += rows.segments[static_cast<std::size_t>(of)].length;
    cut(segment, most.keys, [&](std::int32_t first, std::int32_t count) {
      const std::int32_t begin = int32(static_cast<std::int64_t>(tiles.spans.size()));
      tiles.spans.push_back({own.begin + first, own.length - first, own.position + first});
      for (std::size_t i = 1; i < families.followers[s].size(); ++i) {
        tiles.spans.push_back(span_of(rows, rows.segments[static_cast<std::size_t>(families.followers[s][i])]));
      }
      keys.push_back({{{own.begin + first, count, own.position + first},
                       begin,
                       int32(static_cast<std::int64_t>(tiles.spans.size()))},
                      following - first});
    });
  }
  tiles.queries = by_size(std::move(queries));
  tiles.keys = by_size(std::move(keys));
  return tiles;
}

// Collects arrays of 32-bit numbers that are uploaded together; each begins at a multiple of 16 bytes.
class Parcel {
 public:
  explicit Parcel(std::vector<std::int32_t>& words) : words_(words) { words_.clear(); }

  template <class T>
  std::size_t add(const std::vector<T>& values) {
    static_assert(sizeof(T) % 4 == 0);
    words_.resize((words_.size() + 3) / 4 * 4);
    const std::size_t at = words_.size();
    words_.resize(at + values.size() * sizeof(T) / 4);
    if (!values.empty()) std::memcpy(words_.data() + at, values.data(), values.size() * sizeof(T));
    return at;
  }

 private:
  std::vector<std::int32_t>& words_;
};

// Numbers 0 … count − 1 by key, equal keys as they stand.
template <class Key>
std::vector<std::int32_t> ordered(std::size_t count, const Key& key) {
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return key(static_cast<std::size_t>(a)) < key(static_cast<std::size_t>(b));
  });
  return order;
}

void check(const ModelConfig& config, const Chunk& chunk) {
  for (std::int32_t position : chunk.rows.positions) {
    RLFLOW_CHECK(position >= 0 && position < config.max_positions, "position out of range");
  }
  for (std::int32_t token : chunk.rows.tokens) {
    RLFLOW_CHECK(token >= 0 && token < config.vocab_size, std::to_string(token));
  }
  for (const Target& target : chunk.targets) {
    RLFLOW_CHECK(target.token >= 0 && target.token < config.vocab_size, std::to_string(target.token));
    RLFLOW_CHECK(target.row >= 0 && target.row < chunk.rows.size(), std::to_string(target.row));
  }
}

}  // namespace

void CudaChunk::upload(const ModelConfig& config, const Chunk& chunk, cuda::TileRows tile, const cuda::Stream& stream) {
  check(config, chunk);
  const PackedRows& packed = chunk.rows;
  rows = packed.size();
  Parcel parcel(words_);
  const std::size_t tokens_at = parcel.add(packed.tokens), positions_at = parcel.add(packed.positions);

  const std::vector<std::int32_t> by_token =
      ordered(packed.tokens.size(), [&](std::size_t i) { return packed.tokens[i]; });
  std::vector<std::int32_t> distinct, token_begins;
  for (std::size_t i = 0; i < by_token.size(); ++i) {
    const std::int32_t token = packed.tokens[static_cast<std::size_t>(by_token[i])];
    if (!distinct.empty() && distinct.back() == token) continue;
    distinct.push_back(token);
    token_begins.push_back(static_cast<std::int32_t>(i));
  }
  token_begins.push_back(static_cast<std::int32_t>(by_token.size()));
  const std::size_t distinct_at = parcel.add(distinct), token_begins_at = parcel.add(token_begins),
                    by_token_at = parcel.add(by_token);

  order_ = ordered(chunk.targets.size(), [&](std::size_t i) { return chunk.targets[i].row; });
  begins_.clear();
  std::vector<std::int32_t> head, sought;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Target& target = chunk.targets[static_cast<std::size_t>(order_[i])];
    sought.push_back(target.token);
    if (!head.empty() && head.back() == target.row) continue;
    head.push_back(int32(target.row));
    begins_.push_back(static_cast<std::int32_t>(i));
  }
  begins_.push_back(static_cast<std::int32_t>(order_.size()));
  head_rows = static_cast<std::int64_t>(head.size());
  const std::size_t head_at = parcel.add(head), begins_at = parcel.add(begins_), sought_at = parcel.add(sought);

  const Tiles made = tiles_of(packed, tile);
  const std::size_t queries_at = parcel.add(made.queries), keys_at = parcel.add(made.keys),
                    spans_at = parcel.add(made.spans);

  const auto bytes = static_cast<std::int64_t>(words_.size()) * 4;
  buffer_.reserve(bytes);
  staged_.reserve(bytes);
  std::memcpy(staged_.as<char>(), words_.data(), static_cast<std::size_t>(bytes));
  cuda::copy(buffer_.data(), staged_.as<char>(), bytes, stream);
  const auto* base = buffer_.as<const std::int32_t>();
  tokens = base + tokens_at;
  positions = base + positions_at;
  token_groups = {base + distinct_at, base + token_begins_at, base + by_token_at,
                  static_cast<std::int64_t>(distinct.size())};
  head_row = base + head_at;
  target_begins = base + begins_at;
  target_tokens = base + sought_at;
  tiles = {reinterpret_cast<const cuda::RowTile*>(base + queries_at), static_cast<std::int64_t>(made.queries.size()),
           reinterpret_cast<const cuda::RowTile*>(base + keys_at), static_cast<std::int64_t>(made.keys.size()),
           reinterpret_cast<const cuda::RowSpan*>(base + spans_at)};
}

}  // namespace rlflow
