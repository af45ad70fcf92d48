// A transformer with its head, as nodes see it. Where it computes is the affair of what implements it.
#pragma once

#include <memory>
#include <optional>

#include "nodes/format/model_config.h"
#include "nodes/model/adamw.h"
#include "nodes/model/lora.h"
#include "nodes/model/parameters.h"
#include "runtime/contract/model_instance.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// What a model is besides its weights. A bf16 model is its weights rounded to bf16; on the CPU activations are f32, on
// a GPU bf16, and sums f32 everywhere.
struct ModelForm {
  ModelForm(Head of = Head::lm, Dtype type = Dtype::f32) : head(of), dtype(type) {}

  Head head;
  Dtype dtype;
  std::optional<LoraSettings> lora;  // the weights stay, and adapters beside them, f32, are trained
};

// Made by load_model or draw_model (backend.h). Readers only use the const members; the engine keeps them apart from
// writers, so nothing is locked.
class LanguageModel : public ModelInstance {
 public:
  virtual const ModelConfig& config() const = 0;
  virtual const ParameterLayout& layout() const = 0;

  // Makes it trainable; called once, before the first update. Of a bf16 model the optimizer moves an f32 master, which
  // begins as the model's weights and is what checkpoints hold; the weights are the master rounded.
  virtual void attach_optimizer(const AdamWSettings& settings) = 0;
  // One optimizer step with the whole gradient, as Passes::gradient leaves it: f32 laid out as the parameters (or the
  // adapters, where there are some), in the memory of the model's device. Needs an optimizer.
  virtual AdamWStep apply(const float* gradient) = 0;

  // The parameters as passes read them, adapters merged and bf16 widened: f32[layout().size] in host memory.
  virtual at::Tensor weights_on_host() const = 0;

  // Of a model with adapters: what they are added to, as a frozen model that shares its memory and may outlive it.
  virtual std::unique_ptr<LanguageModel> base() const = 0;
};

}  // namespace rlflow
