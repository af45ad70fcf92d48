// How a log-prob task and a training task run their chunks over the threads of a group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nodes/model/passes.h"
#include "nodes/model/transformer.h"

namespace rlflow {

// Those with a view read parameters that belong to no model.
class CpuPasses final : public Passes {
 public:
  CpuPasses();
  ~CpuPasses() override;
  CpuPasses(const CpuPasses&) = delete;
  CpuPasses& operator=(const CpuPasses&) = delete;

  void logprobs(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                std::span<float> logprob) override;
  void values(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
              std::span<float> value) override;
  const float* gradient(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                        const std::function<void(const ChunkLoss&)>& loss) override;
  const float* value_gradient(const LanguageModel& model, std::span<const Chunk> chunks, const PassSettings& settings,
                              const std::function<void(const ChunkValues&)>& loss) override;

  void logprobs(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
                std::span<float> logprob);

  void values(const TransformerView& model, std::span<const Chunk> chunks, const PassSettings& settings,
              std::span<float> value);

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
