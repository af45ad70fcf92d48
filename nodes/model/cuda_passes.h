// How a log-prob task and a training task run their chunks on a GPU, one after another on one stream.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nodes/cuda/timing.h"
#include "nodes/model/passes.h"

namespace rlflow {

// Takes no memory before the first call, and then stays on the GPU of the first model. `threads` is not used.
class CudaPasses final : public Passes {
 public:
  CudaPasses();
  ~CudaPasses() override;
  CudaPasses(const CudaPasses&) = delete;
  CudaPasses& operator=(const CudaPasses&) = delete;

  void logprobs(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                std::span<float> logprob) override;
  void values(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
              std::span<float> value) override;
  const float* gradient(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                        const std::function<void(const ChunkLoss&)>& loss) override;
  const float* value_gradient(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                              const std::function<void(const ChunkValues&)>& loss) override;

  // From the next call on, phases are marked; null: no more. For benchmarks.
  void time_phases(cuda::PhaseTimer* timer) { timer_ = timer; }
  // What was chosen for each product so far.
  std::vector<std::string> product_choices() const;

 private:
  struct State;
  State& state_on(int device);
  template <class Read>
  void read(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
            std::span<float> out, const Read& read_chunk);
  template <class Train>
  const float* train(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                     const Train& train_chunk);

  std::unique_ptr<State> state_;
  cuda::PhaseTimer* timer_ = nullptr;
};

}  // namespace rlflow
