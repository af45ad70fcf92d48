// A model whose parameters and optimizer state stand in the memory of one GPU.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodes/cuda/adam.h"
#include "nodes/cuda/device.h"
#include "nodes/cuda/elements.h"
#include "nodes/format/model_config.h"
#include "nodes/model/adamw.h"
#include "nodes/model/backend.h"
#include "nodes/model/language_model.h"
#include "nodes/model/parameters.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// cos and sin f32[max_positions, head_dim/2] on the device.
struct CudaRotary {
  const float* cos;
  const float* sin;
};

// All that a pass reads, borrowed. Pointers are the device's; they stay the same while the model lives.
struct CudaView {
  const ModelConfig& config;
  const ParameterLayout& layout;
  const void* weights;     // laid out as `layout`
  cuda::Element element;   // of weights and of activations
  CudaRotary full, local;  // of layers that see everything and of sliding ones
  int device;

  // The parameters at an offset of the layout.
  const void* at(std::int64_t offset) const {
    return static_cast<const char*>(weights) + offset * cuda::bytes_of(element);
  }
  const CudaRotary& rotary(std::int64_t layer) const { return config.slides(layer) ? local : full; }
};

// In f32 one buffer is computed with, trained and saved. In bf16 passes read a bf16 buffer; a trainable model keeps f32
// master weights beside it, which are what is saved and stepped. A frozen bf16 model has the bf16 buffer alone, which
// is saved widened. The weights digest is of what passes read.
//
// Readers only use the const members; the engine keeps them apart from writers, so nothing is locked. Members may be
// called from any thread: each makes the model's GPU the thread's own.
class CudaModel final : public LanguageModel {
 public:
  // As load_model and draw_model of backend.h.
  static std::unique_ptr<CudaModel> load_folder(const std::filesystem::path& folder, const ModelPlace& place,
                                                Head head = Head::lm);
  static std::unique_ptr<CudaModel> draw(const std::filesystem::path& folder, std::uint64_t seed,
                                         const ModelPlace& place, Head head = Head::lm);

  // Shape of `folder`; set_parameters must follow before anything reads it.
  static std::unique_ptr<CudaModel> allocate(const std::filesystem::path& folder, const ModelPlace& place,
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
  at::Tensor weights_on_host() const override;
  std::unique_ptr<LanguageModel> base() const override;  // throws: there are no adapters on a GPU yet

  CudaView view() const;
  int device() const { return device_; }
  cuda::Element element() const { return element_; }

  // Parameters as they would be saved, f32[layout().size] in host memory.
  at::Tensor parameters_on_host() const;
  void set_parameters(const float* on_host);

 private:
  struct Rotary;
  struct Optimizer;
  CudaModel(std::filesystem::path folder, ModelConfig config, const ModelPlace& place, Head head);
  CudaModel(const CudaModel& model, cuda::Element element);

  bool has_master() const { return master_.bytes() > 0; }
  void* stored() const { return has_master() ? master_.data() : weights_.data(); }  // what is saved
  cuda::Element stored_element() const { return has_master() ? cuda::Element::f32 : element_; }
  at::Tensor on_host(const void* values, cuda::Element element) const;
  void begin_with(float* on_host);  // which may be changed
  WeightsDigest digest_of_buffer(const void* values, cuda::Element element, const std::string& prefix) const;

  // Shared with replicas: never changed after construction.
  std::shared_ptr<const ModelConfig> config_;
  std::shared_ptr<const ParameterLayout> layout_;
  std::shared_ptr<const Rotary> rotary_;
  std::filesystem::path folder_;  // of config and tokenizer files
  int device_ = 0;
  cuda::Element element_ = cuda::Element::f32;
  cuda::DeviceBuffer weights_;  // of element_
  cuda::DeviceBuffer master_;   // f32, of a trainable bf16 model; else empty
  std::shared_ptr<Optimizer> optimizer_;
};
}  // namespace rlflow
