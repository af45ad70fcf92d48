// How a log-prob task and a training task run their chunks over the threads of a group.
#include "nodes/model/cpu_passes.h"

#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/node.h"

namespace rlflow {
namespace {

// Chunk c belongs to lane c mod lanes, whatever the threads. Each lane adds up a gradient of its own; of a model for
// which that takes much memory there is one lane, and the threads share the work of each chunk.
std::int64_t gradient_lanes(std::int64_t parameters) {
  constexpr std::int64_t kMuch = 16 << 20;  // floats
  return parameters <= kMuch ? 4 : 1;
}
constexpr std::int64_t kReadingLanes = 4;

void check_stop(const PassSettings& settings) {
  if (settings.stop.stop_requested()) throw TaskStopped();
}

TransformerView view_of(const LanguageModel& model) { return dynamic_cast<const CpuModel&>(model).view(); }

}  // namespace

struct CpuPasses::Lane {
  Activations activations;
  std::vector<float> output, entropy, doutput, dentropy;  // output: log-probabilities or values
  at::Tensor gradient;
  std::int64_t gradient_size = 0;

  void reserve_targets(std::size_t count) {
    for (auto* buffer : {&output, &entropy, &doutput, &dentropy}) buffer->assign(count, 0.0f);
  }
  void clear_gradient(std::int64_t size, std::int32_t threads) {
    if (gradient_size != size) {
      gradient = make_floats(size);
      gradient_size = size;
    }
    run_lanes(threads, threads, [&](std::int64_t part) {
      std::fill(floats(gradient) + size * part / threads, floats(gradient) + size * (part + 1) / threads, 0.0f);
    });
  }
};

CpuPasses::CpuPasses() = default;
CpuPasses::~CpuPasses() = default;

void CpuPasses::reserve(std::size_t lanes) {
  while (lanes_.size() < lanes) lanes_.push_back(std::make_unique<Lane>());
}

// read_chunk(view, chunk, lane) leaves a number for each target in lane.output.
template <class Read>
void CpuPasses::read(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                     std::span<float> out, const Read& read_chunk) {
  reserve(kReadingLanes);
  // A single chunk has the threads of all lanes for its products.
  const std::int64_t busy = std::min<std::int64_t>(kReadingLanes, static_cast<std::int64_t>(chunks.size()));
  const TransformerView view = model.with_threads(busy == 1 ? settings.threads : 1);
  run_lanes(busy, settings.threads, [&](std::int64_t l) {
    Lane& lane = *lanes_[static_cast<std::size_t>(l)];
    for (auto c = static_cast<std::size_t>(l); c < chunks.size(); c += kReadingLanes) {
      check_stop(settings);
      const Chunk& chunk = chunks[c];
      lane.reserve_targets(chunk.targets.size());
      forward(view, chunk.rows, lane.activations, Activations::Use::reading);
      read_chunk(view, chunk, lane);
      for (std::size_t i = 0; i < chunk.index.size(); ++i)
        out[static_cast<std::size_t>(chunk.index[i])] = lane.output[i];
    }
  });
}

void CpuPasses::logprobs(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                         std::span<float> logprob) {
  read(model, chunks, settings, logprob, [&](const TransformerView& view, const Chunk& chunk, Lane& lane) {
    target_logprobs(view, chunk.targets, lane.activations, settings.inverse_temperature, lane.output.data(), nullptr);
  });
}

void CpuPasses::values(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                       std::span<float> value) {
  read(model, chunks, settings, value, [&](const TransformerView& view, const Chunk& chunk, Lane& lane) {
    target_values(view, chunk.targets, lane.activations, lane.output.data());
  });
}

// train_chunk(view, c, chunk, lane) goes from the chunk's activations to the gradient of its output in them, and adds
// the head's part to lane.gradient.
template <class Train>
const float* CpuPasses::train(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                              const Train& train_chunk) {
  const std::int64_t size = model.trained(), lanes = gradient_lanes(model.layout.size);
  reserve(static_cast<std::size_t>(lanes));
  const std::int64_t busy = std::clamp<std::int64_t>(static_cast<std::int64_t>(chunks.size()), 1, lanes);
  const TransformerView view = model.with_threads(busy == 1 ? settings.threads : 1);
  run_lanes(busy, settings.threads, [&](std::int64_t l) {
    Lane& lane = *lanes_[static_cast<std::size_t>(l)];
    lane.clear_gradient(size, view.threads);
    for (auto c = static_cast<std::size_t>(l); c < chunks.size(); c += static_cast<std::size_t>(lanes)) {
      check_stop(settings);
      const Chunk& chunk = chunks[c];
      lane.reserve_targets(chunk.targets.size());
      forward(view, chunk.rows, lane.activations,
              settings.recompute ? Activations::Use::recomputing : Activations::Use::training);
      train_chunk(view, c, chunk, lane);
      backward(view, chunk.rows, lane.activations, floats(lane.gradient));
    }
  });
  float* total = floats(lanes_[0]->gradient);
  for (std::int64_t l = 1; l < busy; ++l) {
    cpu::kernels().add(floats(lanes_[static_cast<std::size_t>(l)]->gradient), size, total);
  }
  return total;
}

const float* CpuPasses::gradient(const TransformerView& model, std::span<const Chunk> chunks,
                                 const PassSettings& settings, const std::function<void(const ChunkLoss&)>& loss) {
  return train(
      model, chunks, settings, [&](const TransformerView& view, std::size_t c, const Chunk& chunk, Lane& lane) {
        target_logprobs(view, chunk.targets, lane.activations, settings.inverse_temperature, lane.output.data(),
                        lane.entropy.data());
        loss({c, lane.output, lane.entropy, lane.doutput, lane.dentropy});
        target_logprobs_backward(view, chunk.targets, chunk.rows.size(), lane.activations, settings.inverse_temperature,
                                 lane.doutput.data(), lane.dentropy.data(), floats(lane.gradient));
      });
}

const float* CpuPasses::value_gradient(const TransformerView& model, std::span<const Chunk> chunks,
                                       const PassSettings& settings,
                                       const std::function<void(const ChunkValues&)>& loss) {
  return train(model, chunks, settings,
               [&](const TransformerView& view, std::size_t c, const Chunk& chunk, Lane& lane) {
                 target_values(view, chunk.targets, lane.activations, lane.output.data());
                 loss({c, lane.output, lane.doutput});
                 target_values_backward(view, chunk.targets, chunk.rows.size(), lane.activations, lane.doutput.data(),
                                        floats(lane.gradient));
               });
}

void CpuPasses::logprobs(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                         std::span<float> logprob) {
  logprobs(view_of(model), chunks, settings, logprob);
}

void CpuPasses::values(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                       std::span<float> value) {
  values(view_of(model), chunks, settings, value);
}

const float* CpuPasses::gradient(const LanguageModel& model, std::span<const Chunk> chunks,
                                 const PassSettings& settings, const std::function<void(const ChunkLoss&)>& loss) {
  return gradient(view_of(model), chunks, settings, loss);
}

const float* CpuPasses::value_gradient(const LanguageModel& model, std::span<const Chunk> chunks,
                                       const PassSettings& settings,
                                       const std::function<void(const ChunkValues&)>& loss) {
  return value_gradient(view_of(model), chunks, settings, loss);
}

}  // namespace rlflow
