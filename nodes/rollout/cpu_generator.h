// Sampling on CPU threads: continuous batching over lanes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nodes/model/transformer.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

class CpuGenerator final : public Generator {
 public:
  CpuGenerator();
  ~CpuGenerator() override;
  CpuGenerator(const CpuGenerator&) = delete;
  CpuGenerator& operator=(const CpuGenerator&) = delete;

  bool run(const LanguageModel& model, std::span<const std::span<const std::int32_t>> prompts,
           const GenerationSettings& settings, std::vector<Response>& responses) override;
  // The same from parameters that belong to no model.
  bool run(const TransformerView& model, std::span<const std::span<const std::int32_t>> prompts,
           const GenerationSettings& settings, std::vector<Response>& responses);

  const GenerationReport& report() const override { return report_; }

 private:
  struct Lane;
  std::vector<std::unique_ptr<Lane>> lanes_;
  GenerationReport report_;
};

}  // namespace rlflow
