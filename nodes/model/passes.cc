// How a log-prob task and a training task run their chunks over the threads of a group.
#include "nodes/model/passes.h"

#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/node.h"

namespace rlflow {
namespace {

// Chunk c belongs to lane c mod lanes, whatever the threads. Each lane adds up a gradient of its own, so there are
// fewer where that takes much memory.
std::int64_t gradient_lanes(std::int64_t parameters) {
  constexpr std::int64_t kMuch = 16 << 20;  // floats
  return parameters <= kMuch ? 4 : 2;
}
constexpr std::int64_t kLogprobLanes = 4;

void check_stop(const PassSettings& settings) {
  if (settings.stop.stop_requested()) throw TaskStopped();
}

}  // namespace

struct Passes::Lane {
  Activations activations;
  std::vector<float> logprob, entropy, dlogprob, dentropy;
  at::Tensor gradient;
  std::int64_t gradient_size = 0;

  void reserve_targets(std::size_t count) {
    for (auto* buffer : {&logprob, &entropy, &dlogprob, &dentropy}) buffer->assign(count, 0.0f);
  }
  void clear_gradient(std::int64_t size) {
    if (gradient_size != size) {
      gradient = make_floats(size);
      gradient_size = size;
    }
    std::fill_n(floats(gradient), size, 0.0f);
  }
};

Passes::Passes() = default;
Passes::~Passes() = default;

void Passes::reserve(std::size_t lanes) {
  while (lanes_.size() < lanes) lanes_.push_back(std::make_unique<Lane>());
}

void Passes::logprobs(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                      std::span<float> logprob) {
  reserve(kLogprobLanes);
  run_lanes(kLogprobLanes, settings.threads, [&](std::int64_t l) {
    Lane& lane = *lanes_[static_cast<std::size_t>(l)];
    for (auto c = static_cast<std::size_t>(l); c < chunks.size(); c += kLogprobLanes) {
      check_stop(settings);
      const Chunk& chunk = chunks[c];
      lane.reserve_targets(chunk.targets.size());
      forward(model, chunk.rows, lane.activations);
      target_logprobs(model, chunk.targets, lane.activations, settings.inverse_temperature, lane.logprob.data(),
                      nullptr);
      for (std::size_t i = 0; i < chunk.index.size(); ++i) {
        logprob[static_cast<std::size_t>(chunk.index[i])] = lane.logprob[i];
      }
    }
  });
}

const float* Passes::gradient(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                              const std::function<void(const ChunkLoss&)>& loss) {
  const std::int64_t size = model.layout.size, lanes = gradient_lanes(size);
  reserve(static_cast<std::size_t>(lanes));
  run_lanes(lanes, settings.threads, [&](std::int64_t l) {
    Lane& lane = *lanes_[static_cast<std::size_t>(l)];
    lane.clear_gradient(size);
    for (auto c = static_cast<std::size_t>(l); c < chunks.size(); c += static_cast<std::size_t>(lanes)) {
      check_stop(settings);
      const Chunk& chunk = chunks[c];
      lane.reserve_targets(chunk.targets.size());
      forward(model, chunk.rows, lane.activations);
      target_logprobs(model, chunk.targets, lane.activations, settings.inverse_temperature, lane.logprob.data(),
                      lane.entropy.data());
      loss({c, lane.logprob, lane.entropy, lane.dlogprob, lane.dentropy});
      target_logprobs_backward(model, chunk.targets, chunk.rows.size(), lane.activations, settings.inverse_temperature,
                               lane.dlogprob.data(), lane.dentropy.data(), floats(lane.gradient));
      backward(model, chunk.rows, lane.activations, floats(lane.gradient));
    }
  });
  float* total = floats(lanes_[0]->gradient);
  for (std::int64_t l = 1; l < lanes; ++l) {
    cpu::kernels().add(floats(lanes_[static_cast<std::size_t>(l)]->gradient), size, total);
  }
  return total;
}

}  // namespace rlflow
