// How a log-prob task and a training task run their chunks on a GPU.
#include "nodes/model/cuda_passes.h"

#include "nodes/model/cuda_head.h"
#include "nodes/model/cuda_model.h"
#include "nodes/model/cuda_transformer.h"
#include "runtime/contract/check.h"
#include "runtime/contract/node.h"

namespace rlflow {
namespace {

void check_stop(const PassSettings& settings) {
  if (settings.stop.stop_requested()) throw TaskStopped();
}

CudaView view_of(const LanguageModel& model) { return dynamic_cast<const CudaModel&>(model).view(); }

}  // namespace

struct CudaPasses::State {
  int device = 0;
  CudaWorkspace work;
  CudaHead head;
  cuda::DeviceBuffer gradient;                            // f32[size of the parameters]
  std::vector<float> output, entropy, doutput, dentropy;  // of a chunk; output: log-probabilities or values

  void upload(const CudaView& model, const Chunk& chunk) {
    work.chunk.upload(model.config, chunk, cuda::tile_rows(attention_shape(model, 0)), work.stream);
    for (auto* numbers : {&output, &entropy, &doutput, &dentropy}) numbers->assign(chunk.targets.size(), 0.0f);
    work.mark("upload");
  }
};

CudaPasses::CudaPasses() = default;
CudaPasses::~CudaPasses() = default;

CudaPasses::State& CudaPasses::state_on(int device) {
  cuda::use_device(device);
  if (!state_) {
    state_ = std::make_unique<State>();
    state_->device = device;
  }
  RLFLOW_CHECK(state_->device == device, "passes and model stand on different GPUs");
  state_->work.timer = timer_;
  return *state_;
}

std::vector<std::string> CudaPasses::product_choices() const {
  return state_ ? state_->work.products.choices() : std::vector<std::string>();
}

// read_chunk(view, state) leaves a number for each target in state.output.
template <class Read>
void CudaPasses::read(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                      std::span<float> out, const Read& read_chunk) {
  const CudaView view = view_of(model);
  State& state = state_on(view.device);
  for (const Chunk& chunk : chunks) {
    check_stop(settings);
    state.upload(view, chunk);
    forward(view, state.work, Keep::nothing);
    read_chunk(view, state);
    for (std::size_t i = 0; i < chunk.index.size(); ++i)
      out[static_cast<std::size_t>(chunk.index[i])] = state.output[i];
  }
}

void CudaPasses::logprobs(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                          std::span<float> logprob) {
  read(model, chunks, settings, logprob, [&](const CudaView& view, State& state) {
    state.head.logprobs(view, state.work, settings.inverse_temperature, Keep::nothing, state.output.data(), nullptr);
  });
}

void CudaPasses::values(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                        std::span<float> value) {
  read(model, chunks, settings, value, [&](const CudaView& view, State& state) {
    state.head.values(view, state.work, Keep::nothing, state.output.data());
  });
}

// train_chunk(view, c, state) goes from the chunk's activations to the gradient of its output in them, and adds the
// head's part to state.gradient.
template <class Train>
const float* CudaPasses::train(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                               const Train& train_chunk) {
  if (settings.recompute) throw std::runtime_error("`recompute` is not there on a GPU yet; take it away");
  const CudaView view = view_of(model);
  State& state = state_on(view.device);
  const std::int64_t bytes = view.layout.size * 4;
  state.gradient.reserve(bytes);
  state.work.mark("between passes");
  cuda::fill_bytes(state.gradient.data(), 0, bytes, state.work.stream);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    check_stop(settings);
    state.upload(view, chunks[c]);
    forward(view, state.work, Keep::activations);
    train_chunk(view, c, state);
    backward(view, state.work, state.gradient.as<float>());
  }
  state.work.stream.synchronize();
  return state.gradient.as<float>();
}

const float* CudaPasses::gradient(const LanguageModel& model, std::span<const Chunk> chunks,
                                  const PassSettings& settings, const std::function<void(const ChunkLoss&)>& loss) {
  return train(model, chunks, settings, [&](const CudaView& view, std::size_t c, State& state) {
    state.head.logprobs(view, state.work, settings.inverse_temperature, Keep::activations, state.output.data(),
                        state.entropy.data());
    loss({c, state.output, state.entropy, state.doutput, state.dentropy});
    state.head.logprobs_backward(view, state.work, settings.inverse_temperature, state.doutput.data(),
                                 state.dentropy.data(), state.gradient.as<float>());
  });
}

const float* CudaPasses::value_gradient(const LanguageModel& model, std::span<const Chunk> chunks,
                                        const PassSettings& settings,
                                        const std::function<void(const ChunkValues&)>& loss) {
  return train(model, chunks, settings, [&](const CudaView& view, std::size_t c, State& state) {
    state.head.values(view, state.work, Keep::activations, state.output.data());
    loss({c, state.output, state.doutput});
    state.head.values_backward(view, state.work, state.doutput.data(), state.gradient.as<float>());
  });
}

}  // namespace rlflow
