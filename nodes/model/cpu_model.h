// A model whose parameters and optimizer state stand in host memory and whose passes run on CPU threads.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/adamw.h"
#include "nodes/model/language_model.h"
#include "nodes/model/parameters.h"
#include "nodes/model/transformer.h"

namespace rlflow {

// Readers only use the const members; the engine keeps them apart from writers, so nothing is locked.
class CpuModel final : public LanguageModel {
 public:
  // As load_model and draw_model of backend.h.
  static std::unique_ptr<CpuModel> load_folder(const std::filesystem::path& folder, std::int32_t threads,
                                               Head head = Head::lm);
  static std::unique_ptr<CpuModel> draw(const std::filesystem::path& folder, std::uint64_t seed, std::int32_t threads,
                                        Head head = Head::lm);

  WeightsDigest weights_digest() const override;
  Digest state_digest() const override;
  std::vector<std::string> parts() const override;
  void save(std::string_view part, ByteSink& sink) const override;
  void load(std::string_view part, std::span<const std::byte> bytes) override;
  std::unique_ptr<ModelInstance> copy_for_replica(std::string_view dtype) const override;
  void export_folder(const std::filesystem::path& folder) const override;
  std::string first_difference(std::span<const std::byte> bytes) const override;

  const ModelConfig& config() const override { return *config_; }
  const ParameterLayout& layout() const override { return *layout_; }
  void attach_optimizer(const AdamWSettings& settings) override;
  AdamWStep apply(const float* gradient) override;
  std::int32_t threads() const { return threads_; }
  TransformerView view() const { return {*config_, *layout_, floats(parameters_), panels_, *rotary_}; }
  const float* parameters() const { return floats(parameters_); }

  const AdamW* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }

 private:
  CpuModel(std::filesystem::path folder, ModelConfig config, std::int32_t threads, Head head);
  CpuModel(const CpuModel& model, at::Tensor parameters);

  // Shared with replicas: never changed after construction.
  std::shared_ptr<const ModelConfig> config_;
  std::shared_ptr<const ParameterLayout> layout_;
  std::shared_ptr<const RotaryTables> rotary_;
  std::filesystem::path folder_;  // of config and tokenizer files
  std::int32_t threads_ = 1;
  at::Tensor parameters_;
  ForwardPanels panels_;
  std::optional<AdamW> optimizer_;
};

}  // namespace rlflow
