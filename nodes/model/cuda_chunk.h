// A chunk as device kernels read it: tokens, positions, targets by row, and the tiles of attention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/cuda/attention.h"
#include "nodes/cuda/embedding.h"
#include "nodes/cuda/token_head.h"
#include "nodes/format/model_config.h"
#include "nodes/model/chunks.h"

namespace rlflow {

// Pointers are the device's, into a buffer that is used again for the next chunk.
class CudaChunk {
 public:
  // Checks tokens and positions against `config`.
  void upload(const ModelConfig& config, const Chunk& chunk, cuda::TileRows tile, const cuda::Stream& stream);

  std::int64_t rows = 0;
  const std::int32_t* tokens = nullptr;     // [rows]
  const std::int32_t* positions = nullptr;  // [rows]
  cuda::TokenGroups token_groups{};
  cuda::AttentionTiles tiles{};
  std::int64_t head_rows = 0;                   // rows with a target, ascending
  const std::int32_t* head_row = nullptr;       // [head_rows]
  const std::int32_t* target_begins = nullptr;  // [head_rows + 1]
  const std::int32_t* target_tokens = nullptr;  // [targets], by row

  // Target order[i] of the chunk stands at place i on the device.
  const std::vector<std::int32_t>& order() const { return order_; }

 private:
  std::vector<std::int32_t> order_, begins_, words_;
  cuda::PinnedBuffer staged_;  // the words; the stream is waited for between two chunks, so the last copy has ended
  cuda::DeviceBuffer buffer_;
};

}  // namespace rlflow
