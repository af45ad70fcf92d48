// Sampling on one GPU: continuous batching with keys and values in pages of its memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nodes/rollout/cuda_schedule.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

// Its buffers stand on the GPU of the model that it first ran; it is made again for another one.
class CudaGenerator final : public Generator {
 public:
  bool run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
           const GenerationSettings& settings, std::vector<Response>& responses) override;

  // The same of parameters that belong to no model.
  bool run(const CudaView& model, std::span<const std::span<const std::int32_t>> prompts,
           const GenerationSettings& settings, std::vector<Response>& responses);

  const GenerationReport& report() const override { return report_; }
  // How each product is computed, for records.
  std::vector<std::string> product_choices() const;

 private:
  std::unique_ptr<CudaStep> step_;
  int device_ = -1;
  CudaSchedule schedule_;
  GenerationReport report_;
};

}  // namespace rlflow
