// The rows of a generation step on the device: which tokens are read, where their keys and values go, what is drawn.
//
// All pointers are device pointers; every function enqueues on `stream`, allocates nothing and throws CudaFailure where
// a launch is refused. Sums have one fixed order, so equal inputs give equal bits.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

inline constexpr int kPageTokens = 16;

// One token to read. It sees the `prefix` first tokens of its page table and then its own up to number `own`, itself
// among them; its position is prefix + own. The prefix fills whole pages: own tokens begin on a page of their own.
struct StepRow {
  std::int32_t token;
  std::int32_t own;
  std::int32_t prefix;
  std::int32_t table;  // of page numbers; below 0: the row is idle, nothing is read or written for it
};

// tables[at] = page for each of `count` changes.
struct PageChange {
  std::int32_t at;
  std::int32_t page;
};
void change_pages(const Stream& stream, const PageChange* changes, int count, std::int32_t* tables);

// Keys and values of one layer: K and V of a page stand one after the other, each [kv_heads, 16, head_dim].
struct KvPages {
  void* layer;                 // of page 0
  std::int64_t page_stride;    // elements from page to page
  const std::int32_t* tables;  // i32[tables, table_stride] page numbers
  std::int64_t table_stride;
};

// How queries, keys and values of a row are made of its projections [query heads | key heads | value heads].
struct PagedShape {
  int heads, kv_heads, head_dim;
  float scale;  // of scores
  int window;   // keys that a row sees, its own among them; 0: all
};

struct HeadNorms {
  const void* query = nullptr;  // [head_dim]; null: none
  const void* key = nullptr;
  float offset = 0;  // what is added to the weights
  float eps = 0;
};

struct Rotary {
  const float* cos;  // f32[positions, head_dim/2]
  const float* sin;
};

// hidden f32[rows, size] = the embeddings of the rows' tokens times `scale`; idle rows: 0.
void embed_rows(const Stream& stream, const StepRow* rows, int count, const void* embedding, Element element, int size,
                float scale, float* hidden);

// y [rows, size] = x·(1/√(mean x² + eps))·(weight + offset) of x f32[rows, size].
struct RowNorm {
  const void* weight;
  float offset, eps;
};
void norm_rows(const Stream& stream, const float* x, int count, int size, const RowNorm& norm, Element element,
               void* y);
// The same of the rows of x that `gather` i32[count] names.
void norm_gathered_rows(const Stream& stream, const float* x, const std::int32_t* gather, int count, int size,
                        const RowNorm& norm, Element element, void* y);
// hidden += norm(branch), both f32[rows, size].
void add_normed_rows(const Stream& stream, const float* branch, int count, int size, const RowNorm& norm,
                     Element element, float* hidden);

// hidden f32[rows, size] += bias [size] in every row.
void add_bias_rows(const Stream& stream, const void* bias, int count, int size, Element element, float* hidden);

enum class Gate : std::uint8_t { silu, gelu_tanh };
// y [rows, size] = activation(gate)·up of gate_up [rows, 2·size] + bias [2·size], which may be null.
void gate_rows(const Stream& stream, const void* gate_up, const void* bias, int count, int size, Gate gate,
               Element element, void* y);

// Adds bias [(heads + 2·kv_heads)·head_dim], which may be null, to projections f32 [rows, the same]; norms and turns
// queries and keys (the queries in place), rounds them to `element`, and writes keys and values to the rows' pages.
void store_rows(const Stream& stream, const StepRow* rows, int count, float* projections, const void* bias,
                const PagedShape& shape, const HeadNorms& norms, const Rotary& rotary, const KvPages& pages,
                Element element);

// out [rows, heads·head_dim]: what each row sees of its pages, weighted by softmax(scale·q·K). Any shape.
void attend_rows(const Stream& stream, const StepRow* rows, int count, const float* projections,
                 const PagedShape& shape, const KvPages& pages, Element element, void* out);

}  // namespace rlflow::cuda
