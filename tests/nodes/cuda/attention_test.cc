// Does attention on tensor cores, in bf16, compute what the plain kernels compute in f32 from the same numbers?
#include "nodes/cuda/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nodes/cuda/elements.h"
#include "nodes/model/cuda_chunk.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

struct Case {
  std::int64_t heads, kv_heads, head_dim, window;
};

// A trie of three levels with a segment of its own beside it; lengths on both sides of a tile.
Chunk trie() {
  Chunk chunk;
  auto add = [&](std::int32_t length, std::int32_t prefix, std::int32_t position) {
    chunk.rows.segments.push_back({chunk.rows.size(), length, prefix});
    for (std::int32_t i = 0; i < length; ++i) {
      chunk.rows.tokens.push_back(0);
      chunk.rows.positions.push_back(position + i);
    }
  };
  add(150, -1, 0);
  add(70, 0, 150);
  add(300, 1, 220);
  add(5, 1, 220);
  add(128, 0, 150);
  add(257, -1, 0);
  return chunk;
}

std::vector<float> fetched(const void* from, cuda::Element type, std::int64_t count, const cuda::Stream& stream) {
  const cuda::DeviceBuffer wide(count * 4);
  cuda::convert(from, type, wide.data(), cuda::Element::f32, count, stream);
  std::vector<float> host(static_cast<std::size_t>(count));
  cuda::copy(host.data(), wide.data(), count * 4, stream);
  stream.synchronize();
  return host;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / size);
}

struct Computed {
  std::vector<float> out, log_sums, gradient;
};

Computed compute(const Case& of, cuda::Element type, const cuda::DeviceBuffer& projections,
                 const cuda::DeviceBuffer& dout, std::int64_t rows, const cuda::Stream& stream) {
  const std::int64_t queries = of.heads * of.head_dim, width = queries + 2 * of.kv_heads * of.head_dim;
  const cuda::AttentionShape shape{
      type, of.heads, of.kv_heads, of.head_dim, width, of.window, 1.3f / std::sqrt(static_cast<float>(of.head_dim))};
  ModelConfig config;
  config.max_positions = 4096;
  config.vocab_size = 10;
  CudaChunk chunk;
  chunk.upload(config, trie(), cuda::tile_rows(shape), stream);
  const cuda::DeviceBuffer out(rows * queries * 4), log_sums(rows * of.heads * 4), deltas(rows * of.heads * 4);
  const cuda::DeviceBuffer gradient(rows * width * 4);
  cuda::DeviceBuffer partials;
  partials.reserve(cuda::attention_scratch(shape, chunk.tiles, rows));
  for (const cuda::DeviceBuffer* poisoned : {&out, &log_sums, &gradient}) {
    cuda::fill_bytes(poisoned->data(), 0xff, poisoned->bytes(), stream);  // NaN, should a number stay unwritten
  }
  cuda::attention(shape, chunk.tiles, projections.data(), out.data(), log_sums.as<float>(), stream);
  cuda::attention_backward(shape, chunk.tiles, rows, projections.data(), out.data(), log_sums.as<float>(), dout.data(),
                           gradient.data(), deltas.as<float>(), partials.data(), stream);
  return {fetched(out.data(), type, rows * queries, stream),
          fetched(log_sums.data(), cuda::Element::f32, rows * of.heads, stream),
          fetched(gradient.data(), type, rows * width, stream)};
}

TEST(CudaAttention, TensorCoresComputeWhatPlainKernelsDo) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  cuda::use_device(0);
  const cuda::Stream stream;
  const std::int64_t rows = trie().rows.size();
  for (const Case& of : {Case{14, 2, 64, 0}, Case{4, 4, 64, 90}, Case{6, 2, 128, 0}, Case{2, 1, 128, 33}}) {
    const std::int64_t queries = of.heads * of.head_dim, width = queries + 2 * of.kv_heads * of.head_dim;
    PhiloxStream numbers(static_cast<std::uint64_t>(of.heads));
    auto random = [&](std::int64_t count) {
      std::vector<float> host(static_cast<std::size_t>(count));
      for (float& x : host) x = static_cast<float>(numbers.normal());
      cuda::DeviceBuffer wide(count * 4);
      cuda::copy(wide.data(), host.data(), count * 4, stream);
      cuda::DeviceBuffer narrow(count * 2);
      cuda::convert(wide.data(), cuda::Element::f32, narrow.data(), cuda::Element::bf16, count, stream);
      cuda::convert(narrow.data(), cuda::Element::bf16, wide.data(), cuda::Element::f32, count, stream);
      return std::pair(std::move(wide), std::move(narrow));
    };
    const auto [wide, narrow] = random(rows * width);
    const auto [wide_dout, narrow_dout] = random(rows * queries);
    const Computed expected = compute(of, cuda::Element::f32, wide, wide_dout, rows, stream);
    const Computed actual = compute(of, cuda::Element::bf16, narrow, narrow_dout, rows, stream);
    const double out = relative_error(actual.out, expected.out),
                 sums = relative_error(actual.log_sums, expected.log_sums),
                 gradient = relative_error(actual.gradient, expected.gradient);
    std::printf("attention %ld heads of %ld, window %ld: out %.2e, log sums %.2e, gradient %.2e\n",
                static_cast<long>(of.heads), static_cast<long>(of.head_dim), static_cast<long>(of.window), out, sums,
                gradient);
    EXPECT_LE(out, 5e-3);
    EXPECT_LE(sums, 1e-5);
    EXPECT_LE(gradient, 1e-2);
    const Computed again = compute(of, cuda::Element::bf16, narrow, narrow_dout, rows, stream);
    EXPECT_EQ(std::memcmp(again.gradient.data(), actual.gradient.data(), actual.gradient.size() * 4), 0);
  }
}

}  // namespace
}  // namespace rlflow
