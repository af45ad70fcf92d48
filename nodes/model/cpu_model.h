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
//
// Passes read `parameters_` (embedding, norms, biases, and matrices row by row for the backward pass) and `panels_`
// (the matrices of the forward pass). Of a bf16 model both hold rounded values, as f32. Of a model with adapters
// `parameters_` is the base, and the panels of the matrices that have some hold the sum, merged anew after each update.
class CpuModel final : public LanguageModel {
 public:
  // As load_model and draw_model of backend.h.
  static std::unique_ptr<CpuModel> load_folder(const std::filesystem::path& folder, std::int32_t threads,
                                               const ModelForm& form = {});
  static std::unique_ptr<CpuModel> draw(const std::filesystem::path& folder, std::uint64_t seed, std::int32_t threads,
                                        const ModelForm& form = {});
  // Shape of `folder`, parameters f32[layout.size] as given.
  static std::unique_ptr<CpuModel> of_weights(const std::filesystem::path& folder, at::Tensor parameters,
                                              std::int32_t threads, const ModelForm& form);

  WeightsDigest weights_digest() const override;
  Digest state_digest() const override;
  std::vector<std::string> parts() const override;
  void save(std::string_view part, ByteSink& sink) const override;
  void load(std::string_view part, std::span<const std::byte> bytes) override;
  std::unique_ptr<ModelInstance> copy_for_replica(std::string_view dtype) const override;
  void export_folder(const std::filesystem::path& folder) const override;
  void export_merged(const std::filesystem::path& folder) const override;
  std::string first_difference(std::span<const std::byte> bytes) const override;

  const ModelConfig& config() const override { return *config_; }
  const ParameterLayout& layout() const override { return *layout_; }
  void attach_optimizer(const AdamWSettings& settings) override;
  AdamWStep apply(const float* gradient) override;
  at::Tensor weights_on_host() const override { return merged_parameters(); }
  std::unique_ptr<LanguageModel> base() const override;

  std::int32_t threads() const { return threads_; }
  Dtype dtype() const { return dtype_; }
  TransformerView view() const {
    return {*config_, *layout_, floats(parameters_), panels_, *rotary_, 1, nullptr, adapters_ ? &*view_ : nullptr};
  }
  const float* parameters() const { return floats(parameters_); }
  const AdapterLayout* adapters() const { return adapters_.get(); }

  const AdamW* optimizer() const { return optimizer_ ? &*optimizer_ : nullptr; }
  // What the optimizer moves and checkpoints hold: the adapters, else the master of a bf16 model, else the parameters.
  const SlotTable& trained_slots() const;
  const float* trained() const { return floats(trained_tensor()); }

 private:
  CpuModel(std::filesystem::path folder, ModelConfig config, std::int32_t threads, const ModelForm& form);
  // Shares everything that never changes; of the parameters that is up to the caller.
  CpuModel(const CpuModel& model, at::Tensor parameters, ForwardPanels panels, Dtype dtype);
  const at::Tensor& trained_tensor() const;
  void complete(const ModelForm& form);
  void set_adapters(std::shared_ptr<const AdapterLayout> layout, at::Tensor values);
  void trained_changed();
  void merge_panels();
  at::Tensor merged_parameters() const;

  // Shared with replicas: never changed after construction.
  std::shared_ptr<const ModelConfig> config_;
  std::shared_ptr<const ParameterLayout> layout_;
  std::shared_ptr<const RotaryTables> rotary_;
  std::filesystem::path folder_;  // of config and tokenizer files
  bool drawn_ = false;            // the weights are not those of the folder
  std::int32_t threads_ = 1;
  Dtype dtype_ = Dtype::f32;
  at::Tensor parameters_;  // f32[layout.size]
  at::Tensor master_;      // of a trainable bf16 model without adapters
  ForwardPanels panels_;

  std::shared_ptr<const AdapterLayout> adapters_;  // null: none
  LoraSettings lora_;
  WeightsDigest base_digest_;  // of what the adapters are added to
  at::Tensor adapter_values_, adapters_turned_;
  std::optional<AdapterView> view_;
  std::optional<AdamW> optimizer_;
};

}  // namespace rlflow
