// The passes of a log-prob task and of a training task over chunks of packed sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "nodes/model/chunks.h"
#include "nodes/model/language_model.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Rows of a chunk where the program sets no `micro`: large enough for efficient products, small enough for the caches
// of a CPU or the memory of a GPU.
inline constexpr std::int64_t kChunkRows = 512, kGpuChunkRows = 8192;
inline constexpr std::int64_t chunk_rows(DeviceKind device) {
  return device == DeviceKind::cpu ? kChunkRows : kGpuChunkRows;
}

struct PassSettings {
  float inverse_temperature = 1;
  std::int32_t threads = 1;
  std::stop_token stop;  // polled before each chunk; TaskStopped is thrown
};

// What a loss sees of a chunk, and what it must fill: f32 for each target of the chunk. `dentropy` starts as 0.
struct ChunkLoss {
  std::size_t chunk;
  std::span<const float> logprob, entropy;
  std::span<float> dlogprob, dentropy;
};

// The same of a model with a value head.
struct ChunkValues {
  std::size_t chunk;
  std::span<const float> value;
  std::span<float> dvalue;
};

// Both kinds of pass on one kind of device; its buffers are used again from call to call. One caller at a time. The
// model must stand on such a device.
class Passes {
 public:
  virtual ~Passes() = default;

  // logprob[index] of every target.
  virtual void logprobs(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                        std::span<float> logprob) = 0;

  // value[index] of every target, for a model with a value head.
  virtual void values(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                      std::span<float> value) = 0;

  // The gradient of Σ_chunks loss, as LanguageModel::apply takes it; valid until the next call. `loss` is called once a
  // chunk, perhaps from several threads. The gradient depends on the chunks and their order, not on `threads`.
  virtual const float* gradient(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                                const std::function<void(const ChunkLoss&)>& loss) = 0;
  virtual const float* value_gradient(const LanguageModel& model, std::span<const Chunk> chunks,
                                      const PassSettings& settings,
                                      const std::function<void(const ChunkValues&)>& loss) = 0;
};

}  // namespace rlflow
