// Attention of single rows over their pages in bf16: the query heads that share a head of keys are the rows of a tensor
// core's tile. A warp reads a page of 16 keys at a time straight into fragments: dimensions are taken in an order in
// which every load is 16 bytes, which changes neither a score nor where a value belongs.
#include "nodes/cuda/attend_pages.h"

#include <cooperative_groups.h>

#include "nodes/cuda/dependent_launch.cuh"
#include "nodes/cuda/element_math.cuh"
#include "nodes/cuda/streamed_product.cuh"

namespace rlflow::cuda {
namespace {

using bf16 = __nv_bfloat16;
constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kHeads = 16;  // query heads of a tile
constexpr float kLog2e = 1.4426950408889634f;

struct AttendInput {
  const StepRow* rows;
  const float* projections;
  const bf16* bias;
  PagedShape shape;
  HeadNorms norms;
  Rotary rotary;
  KvPages pages;
  bf16* out;
};

template <int kSize>
struct Shared {
  bf16 query[kHeads][kSize + 8];
  float top[kWarps][kHeads], mass[kWarps][kHeads];
  float mixed[kWarps][kHeads][kSize + 1];
  // Of the block, for the others of its cluster.
  float block_top[kHeads], block_mass[kHeads];
  float block_mixed[kHeads][kSize];
};

// The heads that one warp makes of the projections: queries, then the key, then the value; every kWarps-th of them.
// Lane i holds dimensions i + 32·k and their partners, half a head further. All loads are begun together.
template <int kSize>
class NewHeads {
  static constexpr int kPairs = kSize / 64, kHalf = kSize / 2;
  static constexpr int kMost = (kHeads + 2 + kWarps - 1) / kWarps;

 public:
  // What earlier kernels of the step do not write.
  __device__ NewHeads(const AttendInput& in, int kv_head, std::int64_t position) : in_(in), kv_head_(kv_head) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      cos_[k] = in.rotary.cos[position * kHalf + lane + 32 * k];
      sin_[k] = in.rotary.sin[position * kHalf + lane + 32 * k];
    }
    each([&](int j, int, int head) {
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        low_[j][k] = in.bias ? widened(in.bias[head * kSize + lane + 32 * k]) : 0.0f;
        high_[j][k] = in.bias ? widened(in.bias[head * kSize + lane + 32 * k + kHalf]) : 0.0f;
      }
    });
  }
  // `newest`: the key and the value go to `page`.
  __device__ void make(bool newest, bf16* page, int own, Shared<kSize>& shared) {
    const int lane = threadIdx.x % 32, repeats = in_.shape.heads / in_.shape.kv_heads;
    const std::int64_t width = static_cast<std::int64_t>(in_.shape.heads + 2 * in_.shape.kv_heads) * kSize;
    const float* row = in_.projections + blockIdx.x * width + lane;
    each([&](int j, int, int head) {
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        low_[j][k] += row[head * kSize + 32 * k];
        high_[j][k] += row[head * kSize + 32 * k + kHalf];
      }
    });
    bf16* key = page + (kv_head_ * kPageTokens + own % kPageTokens) * kSize;
    each([&](int j, int number, int) {
      if (number > repeats) {
        if (newest) put(low_[j], high_[j], key + in_.shape.kv_heads * kPageTokens * kSize);
        return;
      }
      const bool query = number < repeats;
      norm(static_cast<const bf16*>(query ? in_.norms.query : in_.norms.key), low_[j], high_[j]);
      float low[kPairs], high[kPairs];
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        low[k] = low_[j][k] * cos_[k] - high_[j][k] * sin_[k];
        high[k] = high_[j][k] * cos_[k] + low_[j][k] * sin_[k];
      }
      if (query) put(low, high, shared.query[number]);
      if (!query && newest) put(low, high, key);
    });
  }

 private:
  // body(slot, number among this key head's, head among all) for each head of this warp.
  template <class Body>
  __device__ void each(const Body& body) const {
    const int repeats = in_.shape.heads / in_.shape.kv_heads;
#pragma unroll
    for (int j = 0; j < kMost; ++j) {
      const int number = threadIdx.x / 32 + kWarps * j;
      if (number < repeats) body(j, number, kv_head_ * repeats + number);
      if (number == repeats) body(j, number, in_.shape.heads + kv_head_);
      if (number == repeats + 1) body(j, number, in_.shape.heads + in_.shape.kv_heads + kv_head_);
    }
  }
  __device__ void norm(const bf16* weight, float (&low)[kPairs], float (&high)[kPairs]) const {
    if (!weight) return;
    const int lane = threadIdx.x % 32;
    float total = 0;
#pragma unroll
    for (int k = 0; k < kPairs; ++k) total += low[k] * low[k] + high[k] * high[k];
    const float scale = 1.0f / sqrtf(warp_sum(total) / kSize + in_.norms.eps);
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      low[k] *= scale * (widened(weight[lane + 32 * k]) + in_.norms.offset);
      high[k] *= scale * (widened(weight[lane + 32 * k + kHalf]) + in_.norms.offset);
    }
  }
  __device__ void put(const float (&low)[kPairs], const float (&high)[kPairs], bf16* to) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      to[lane + 32 * k] = narrowed<bf16>(low[k]);
      to[lane + 32 * k + kHalf] = narrowed<bf16>(high[k]);
    }
  }

  const AttendInput& in_;
  int kv_head_;
  float cos_[kPairs], sin_[kPairs];
  float low_[kMost][kPairs], high_[kMost][kPairs];
};

// What a warp has seen. Lane (g, q) has query heads g and g+8: their maximum, its share of Σe, and of dimension tile t
// the values of dimensions 64·(t/8) + 8·(2q) + t%8 and 64·(t/8) + 8·(2q+1) + t%8.
template <int kSize>
struct Seen {
  float top[2] = {-INFINITY, -INFINITY}, mass[2] = {0, 0};
  float mixed[kSize / 8][4] = {};
};

template <int kSize>
struct PageFragments {
  uint4 keys[2][kSize / 32];    // of keys g and g+8: dimensions 32·j + 8·q …
  uint4 values[4][kSize / 64];  // of keys 2q, 2q+1, 2q+8, 2q+9: dimensions 64·j + 8·g …

  __device__ void load(const bf16* page, int part, int kv_head) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const bf16* keys_at = page + kv_head * kPageTokens * kSize;
    const bf16* values_at = keys_at + part;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int j = 0; j < kSize / 32; ++j) {
        keys[n][j] = *reinterpret_cast<const uint4*>(keys_at + (g + 8 * n) * kSize + 32 * j + 8 * q);
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int key = 2 * q + n % 2 + 8 * (n / 2);
#pragma unroll
      for (int j = 0; j < kSize / 64; ++j) {
        values[n][j] = *reinterpret_cast<const uint4*>(values_at + key * kSize + 64 * j + 8 * g);
      }
    }
  }
  // Nothing is known of what stands in the places of keys that are not there; 0 times it must be 0.
  __device__ void clear_unseen(int first, int end) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int key = 2 * (threadIdx.x % 4) + n % 2 + 8 * (n / 2);
      if (key >= first && key < end) continue;
#pragma unroll
      for (int j = 0; j < kSize / 64; ++j) values[n][j] = make_uint4(0, 0, 0, 0);
    }
  }
};

__device__ inline std::uint32_t word_of(const uint4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// `first` … `end`−1: the keys of the page that are seen.
template <int kSize>
__device__ inline void see_page(const PageFragments<kSize>& page, const std::uint32_t (&query)[kSize / 16][4],
                                float scale, int first, int end, Seen<kSize>& seen) {
  const int q = threadIdx.x % 4;
  float scores[2][4] = {};
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int s = 0; s < kSize / 16; ++s) {
      const uint4& keys = page.keys[n][s / 2];
      multiply_add(scores[n], query[s][0], query[s][1], query[s][2], query[s][3], word_of(keys, 2 * (s % 2)),
                   word_of(keys, 2 * (s % 2) + 1));
    }
  }
  float largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 8 * n + 2 * q + i % 2;
      scores[n][i] = key >= first && key < end ? scores[n][i] * scale : -INFINITY;
      largest[i / 2] = fmaxf(largest[i / 2], scores[n][i]);
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 1));
    largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 2));
    largest[h] = fmaxf(largest[h], seen.top[h]);
  }
  if (__any_sync(0xffffffffu, largest[0] > seen.top[0] || largest[1] > seen.top[1])) {
    const float keep[2] = {exp2f(seen.top[0] - largest[0]), exp2f(seen.top[1] - largest[1])};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      seen.mass[h] *= keep[h];
      seen.top[h] = largest[h];
    }
#pragma unroll
    for (int t = 0; t < kSize / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) seen.mixed[t][i] *= keep[i / 2];
    }
  }
  std::uint32_t weights[2][2];
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float low = exp2f(scores[n][2 * h] - seen.top[h]), high = exp2f(scores[n][2 * h + 1] - seen.top[h]);
      seen.mass[h] += low + high;
      weights[n][h] = packed(low, high);
    }
  }
#pragma unroll
  for (int t = 0; t < kSize / 8; ++t) {
    const auto pair = [&](int n) {
      const std::uint32_t even = word_of(page.values[n][t / 8], t % 8 / 2);
      const std::uint32_t odd = word_of(page.values[n + 1][t / 8], t % 8 / 2);
      return __byte_perm(even, odd, t % 2 ? 0x7632 : 0x5410);
    };
    multiply_add(seen.mixed[t], weights[0][0], weights[0][1], weights[1][0], weights[1][1], pair(0), pair(2));
  }
}

// Pages number `turn`, turn + stride, … of the row; `next` holds the first of them.
template <int kSize>
__device__ void see_pages(const AttendInput& in, const StepRow& row, int kv_head, int turn, int stride,
                          const std::uint32_t (&query)[kSize / 16][4], PageFragments<kSize>& next, Seen<kSize>& seen) {
  const int visible = row.prefix + row.own + 1;
  const int hidden = in.shape.window > 0 ? max(0, visible - in.shape.window) : 0;
  const int prefix_pages = (row.prefix + kPageTokens - 1) / kPageTokens;
  const int count = prefix_pages + row.own / kPageTokens + 1;
  const std::int32_t* table = in.pages.tables + row.table * in.pages.table_stride;
  const int part = in.shape.kv_heads * kPageTokens * kSize;
  const float scale = in.shape.scale * kLog2e;
  const bf16* layer = static_cast<const bf16*>(in.pages.layer);
  for (int i = turn; i < count; i += stride) {
    PageFragments<kSize> page = next;
    if (i + stride < count) next.load(layer + table[i + stride] * in.pages.page_stride, part, kv_head);
    // Where this page's keys stand in the sequence.
    const bool own = i >= prefix_pages;
    const int begin = own ? row.prefix + (i - prefix_pages) * kPageTokens : i * kPageTokens;
    const int end = min(kPageTokens, (own ? visible : row.prefix) - begin);
    const int first = max(0, hidden - begin);
    if (first >= end) continue;
    if (first > 0 || end < kPageTokens) page.clear_unseen(first, end);
    see_page<kSize>(page, query, scale, first, end, seen);
  }
}

// Adds up parts in order: `top`, `mass` of each and `mixed`.
struct Merged {
  float top = -INFINITY, mass = 0, mixed = 0;
  __device__ void add(float other_top, float other_mass, float other_mixed) {
    const float larger = fmaxf(top, other_top);
    if (larger == -INFINITY) return;
    const float keep = exp2f(top - larger), share = exp2f(other_top - larger);
    mass = mass * keep + other_mass * share;
    mixed = mixed * keep + other_mixed * share;
    top = larger;
  }
};

template <int kSize, bool kStore>
__global__ void __launch_bounds__(kThreads, kSize == 64 ? 4 : 2) attend_kernel(const AttendInput in) {
  let_next_begin();
  __shared__ Shared<kSize> shared;
  // Rows, tables and all but the newest page are those of before the step, which no kernel beside this one writes.
  const StepRow row = in.rows[blockIdx.x];
  const int kv_head = blockIdx.y, split = blockIdx.z, splits = gridDim.z;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
  const int repeats = in.shape.heads / in.shape.kv_heads;
  bf16* out = in.out + (static_cast<std::int64_t>(blockIdx.x) * in.shape.heads + kv_head * repeats) * kSize;
  if (row.table < 0) {
    wait_for_earlier();
    if (split == 0)
      for (int i = threadIdx.x; i < repeats * kSize; i += kThreads) out[i] = narrowed<bf16>(0);
    return;
  }
  const int newest = (row.prefix + kPageTokens - 1) / kPageTokens + row.own / kPageTokens;
  const int turn = split * kWarps + warp, part = in.shape.kv_heads * kPageTokens * kSize;
  const std::int32_t* table = in.pages.tables + row.table * in.pages.table_stride;
  bf16* layer = static_cast<bf16*>(in.pages.layer);
  PageFragments<kSize> next;
  if constexpr (kStore) {
    if (turn < newest) next.load(layer + table[turn] * in.pages.page_stride, part, kv_head);
    NewHeads<kSize> heads(in, kv_head, row.prefix + row.own);
    for (int i = threadIdx.x; i < (kHeads - repeats) * kSize; i += kThreads) {
      shared.query[repeats + i / kSize][i % kSize] = narrowed<bf16>(0);
    }
    wait_for_earlier();
    heads.make(newest / kWarps % splits == split, layer + table[newest] * in.pages.page_stride, row.own, shared);
    __syncthreads();
    if (turn == newest) next.load(layer + table[turn] * in.pages.page_stride, part, kv_head);
  } else {
    wait_for_earlier();
    if (turn <= newest) next.load(layer + table[turn] * in.pages.page_stride, part, kv_head);
    const float* projections =
        in.projections +
        (static_cast<std::int64_t>(blockIdx.x) * (in.shape.heads + 2 * in.shape.kv_heads) + kv_head * repeats) * kSize;
    for (int i = threadIdx.x; i < kHeads * kSize; i += kThreads) {
      shared.query[i / kSize][i % kSize] = narrowed<bf16>(i < repeats * kSize ? projections[i] : 0.0f);
    }
    __syncthreads();
  }
  std::uint32_t query[kSize / 16][4];
#pragma unroll
  for (int s = 0; s < kSize / 16; ++s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int d = 32 * (s / 2) + 8 * q + 4 * (s % 2) + 2 * (i / 2);
      query[s][i] = *reinterpret_cast<const std::uint32_t*>(&shared.query[g + 8 * (i % 2)][d]);
    }
  }
  Seen<kSize> seen;
  see_pages<kSize>(in, row, kv_head, turn, splits * kWarps, query, next, seen);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    seen.mass[h] += __shfl_xor_sync(0xffffffffu, seen.mass[h], 1);
    seen.mass[h] += __shfl_xor_sync(0xffffffffu, seen.mass[h], 2);
    const int head = g + 8 * h;
    if (q == 0) {
      shared.top[warp][head] = seen.top[h];
      shared.mass[warp][head] = seen.mass[h];
    }
    if (head >= repeats) continue;
#pragma unroll
    for (int t = 0; t < kSize / 8; ++t) {
      const int d = 64 * (t / 8) + 16 * q + t % 8;
      shared.mixed[warp][head][d] = seen.mixed[t][2 * h];
      shared.mixed[warp][head][d + 8] = seen.mixed[t][2 * h + 1];
    }
  }
  __syncthreads();
  const int size = repeats * kSize;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    const int head = i / kSize, d = i % kSize;
    Merged merged;
    for (int w = 0; w < kWarps; ++w) merged.add(shared.top[w][head], shared.mass[w][head], shared.mixed[w][head][d]);
    if (splits == 1) {
      out[i] = narrowed<bf16>(merged.mixed / merged.mass);
      continue;
    }
    shared.block_mixed[head][d] = merged.mixed;
    if (d == 0) {
      shared.block_top[head] = merged.top;
      shared.block_mass[head] = merged.mass;
    }
  }
  if (splits == 1) return;
  // The blocks of a row are a cluster: each adds up its share of the elements, in the order of the blocks.
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  for (int i = split * kThreads + threadIdx.x; i < size; i += splits * kThreads) {
    const int head = i / kSize, d = i % kSize;
    Merged merged;
    for (int s = 0; s < splits; ++s) {
      const Shared<kSize>* other = cluster.map_shared_rank(&shared, s);
      merged.add(other->block_top[head], other->block_mass[head], other->block_mixed[head][d]);
    }
    out[i] = narrowed<bf16>(merged.mixed / merged.mass);
  }
  cluster.sync();  // until no one reads this block's
}

// Blocks that share the pages of a row where rows are few.
int splits_of(int rows, int kv_heads) {
  int splits = 8;
  while (splits > 1 && rows * kv_heads * splits > 2 * 132) splits /= 2;
  return splits;
}

template <bool kStore>
void launch_attend(const Stream& stream, int count, const AttendInput& input, int splits) {
  const dim3 grid(count, input.shape.kv_heads, splits);
  const auto kernel = input.shape.head_dim == 64 ? attend_kernel<64, kStore> : attend_kernel<128, kStore>;
  launch_dependent_clusters(splits, kernel, grid, kThreads, 0, stream, input);
}

}  // namespace

bool attend_pages_serves(const PagedShape& shape, Element element) {
  return element == Element::bf16 && (shape.head_dim == 64 || shape.head_dim == 128) &&
         shape.heads / shape.kv_heads <= kHeads;
}

void attend_stored_pages(const Stream& stream, const StepRow* rows, int count, const float* projections,
                         const PagedShape& shape, const KvPages& pages, void* out) {
  launch_attend<false>(stream, count, {rows, projections, nullptr, shape, {}, {}, pages, static_cast<bf16*>(out)}, 1);
}

void store_and_attend_pages(const Stream& stream, const StepRow* rows, int count, const float* projections,
                            const void* bias, const PagedShape& shape, const HeadNorms& norms, const Rotary& rotary,
                            const KvPages& pages, void* out) {
  launch_attend<true>(
      stream, count,
      {rows, projections, static_cast<const bf16*>(bias), shape, norms, rotary, pages, static_cast<bf16*>(out)},
      splits_of(count, shape.kv_heads));
}

}  // namespace rlflow::cuda
