// How a log-prob task and a training task run their chunks over the threads of a group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "nodes/model/chunks.h"
#include "nodes/model/transformer.h"

namespace rlflow {

// Rows of a chunk where the program sets no `micro`: large enough for efficient products, small enough for caches.
inline constexpr std::int64_t kChunkRows = 512;

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

// Buffers of both kinds of pass, used again from call to call; one caller at a time.
class Passes {
 public:
  Passes();
  ~Passes();
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  // logprob[index] of every target.
  void logprobs(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                std::span<float> logprob);

  // value[index] of every target, for a model with a value head.
  void values(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
              std::span<float> value);

  // The gradient of Σ_chunks loss, laid out as the parameters; valid until the next call. `loss` is called once a
  // chunk, from several threads. The gradient depends on the chunks and their order, not on `threads`.
  const float* gradient(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                        const std::function<void(const ChunkLoss&)>& loss);
  const float* value_gradient(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                              const std::function<void(const ChunkValues&)>& loss);

 private:
  struct Lane;
  void reserve(std::size_t lanes);
  template <class Read>
  void read(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
            std::span<float> out, const Read& read_chunk);
  template <class Train>
  const float* train(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                     const Train& train_chunk);
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace rlflow
