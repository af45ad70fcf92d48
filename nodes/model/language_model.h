// A transformer with its head, as nodes see it. Where it computes is the affair of what implements it.
#pragma once

#include "nodes/format/model_config.h"
#include "nodes/model/adamw.h"
#include "nodes/model/parameters.h"
#include "runtime/contract/model_instance.h"

namespace rlflow {

// Made by load_model or draw_model (backend.h). Readers only use the const members; the engine keeps them apart from
// writers, so nothing is locked.
class LanguageModel : public ModelInstance {
 public:
  virtual const ModelConfig& config() const = 0;
  virtual const ParameterLayout& layout() const = 0;

  // Makes it trainable; called once, before the first update.
  virtual void attach_optimizer(const AdamWSettings& settings) = 0;
  // One optimizer step with the whole gradient, as Passes::gradient leaves it: f32 laid out as the parameters, in the
  // memory of the model's device. Needs an optimizer.
  virtual AdamWStep apply(const float* gradient) = 0;
};

}  // namespace rlflow
