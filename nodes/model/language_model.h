// A transformer with its head in memory: parameters, optimizer state, and where it came from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/model/adamw.h"
#include "nodes/model/parameters.h"
#include "nodes/model/transformer.h"
#include "runtime/contract/model_instance.h"

namespace rlflow {

// Readers only use the const members; the engine keeps them apart from writers, so nothing is locked.
class LanguageModel final : public ModelInstance {
 public:
  // Reads `folder` (Hugging Face layout: config.json, model.safetensors or several files with an index). Everything is
  // checked before memory for the parameters is taken. Throws FormatError. `threads` are those of the model's group. A
  // value head that the folder does not have starts as 0, so that every value is 0; a reward head must be there.
  static std::unique_ptr<LanguageModel> load_folder(const std::filesystem::path& folder, std::int32_t threads,
                                                    Head head = Head::lm);
  // Shape and tokenizer of `folder`, weights drawn with `seed`.
  static std::unique_ptr<LanguageModel> draw(const std::filesystem::path& folder, std::uint64_t seed,
                                             std::int32_t threads, Head head = Head::lm);
  // Makes it trainable; called once, before the first update.
  void attach_optimizer(const AdamWSettings& settings);

  WeightsDigest weights_digest() const override;
  Digest state_digest() const override;
  std::vector<std::string> parts() const override;
  void save(std::string_view part, ByteSink& sink) const override;
  void load(std::string_view part, std::span<const std::byte> bytes) override;
  std::unique_ptr<ModelInstance> copy_for_replica(std::string_view dtype) const override;
  void export_folder(const std::filesystem::path& folder) const override;
  std::string first_difference(std::span<const std::byte> bytes) const override;

  const ModelConfig& config() const { return *config_; }
  const ParameterLayout& layout() const { return *layout_; }
  std::int32_t threads() const { return threads_; }
  TransformerView view() const { return {*config_, *layout_, floats(parameters_), panels_, *rotary_}; }
  const float* parameters() const { return floats(parameters_); }

  // One optimizer step with the whole gradient (laid out as the parameters); needs an optimizer.
  AdamWStep apply(const float* gradient);
  const AdamW* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }

 private:
  LanguageModel(std::filesystem::path folder, ModelConfig config, std::int32_t threads, Head head);
  LanguageModel(const LanguageModel& model, at::Tensor parameters);

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
