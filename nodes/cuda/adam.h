// AdamW over one flat buffer on the device; nodes/model/adamw.h has the formula.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// ‖gradient‖ and what gradients are multiplied by, on the device: no host is asked between the norm and the step.
struct GradientScale {
  double norm = 0;
  float scale = 1;          // min(1, clip/(norm + 1e-6)); 1 where clip is 0
  std::int32_t finite = 1;  // 0: the step must change nothing
};

// The norm in double over fixed parts in a fixed tree. `scratch` has kNormScratch bytes.
inline constexpr std::int64_t kNormScratch = 1 << 16;
void gradient_scale(const float* gradient, std::int64_t count, double clip, void* scratch, GradientScale* out,
                    const Stream& stream);

struct AdamSettings {
  float learning_rate, beta1, beta2, eps, decay;
  float correction1, root_correction2;  // 1 − β1^t, √(1 − β2^t)
};

// One step over all elements. `undecayed` i64[2·ranges] on the device: ascending begins and ends of what decays not.
// `weights` gets the new parameters rounded to bf16; null: `parameters` is all there is.
void adam_step(const AdamSettings& settings, const GradientScale* scale, const std::int64_t* undecayed,
               std::int64_t ranges, std::int64_t count, float* parameters, void* weights, const float* gradient,
               float* moment1, float* moment2, const Stream& stream);

}  // namespace rlflow::cuda
