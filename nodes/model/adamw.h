// AdamW with decoupled weight decay (Loshchilov and Hutter 2019, "Decoupled weight decay regularization",
// algorithm 2) and its learning-rate schedules.
#pragma once

#include <cstdint>

#include "nodes/model/parameters.h"
#include "runtime/contract/attributes.h"

namespace rlflow {

enum class RateScheduleKind { constant, linear, cosine };

// The learning rate of applied optimizer step s = 1, 2, …: peak·min(1, s/warmup)·shape((s−1)/total), with
// shape(t) = 1 (constant), floor + (1−floor)·(1−min(t, 1)) (linear),
// floor + (1−floor)·½(1 + cos(π·min(t, 1))) (cosine).
struct RateSchedule {
  RateScheduleKind kind = RateScheduleKind::constant;
  double peak = 0;
  std::int64_t warmup = 0;
  std::int64_t total = 1;
  double floor = 0;

  double rate(std::int64_t step) const;
};

struct AdamWSettings {
  RateSchedule schedule;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double decay = 0;
  bool decay_all = false;  // norms and biases too
  double clip = 1;         // largest norm of the whole gradient; 0: not clipped
};

// `optim` as the compiler has checked it: adamw(…) with every argument filled in.
AdamWSettings adamw_settings(const CallValue& optim);

struct AdamWStep {
  bool applied = false;      // false: the gradient was not finite, nothing has changed
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
};

// Moments and counter of one model.
//   g ← g·min(1, clip/(‖g‖ + 1e-6));  m ← m + (1−β1)(g − m);  v ← β2·v + (1−β2)g²
//   θ ← θ(1 − lr·decay) − lr/(1−β1^t) · m / (√v/√(1−β2^t) + eps)
class AdamW {
 public:
  AdamW(AdamWSettings settings, const SlotTable& layout);

  AdamWStep step(float* parameters, const float* gradient, std::int32_t threads);

  const AdamWSettings& settings() const { return settings_; }
  std::int64_t steps() const { return steps_; }  // applied so far
  void set_steps(std::int64_t steps) { steps_ = steps; }
  float* moment1() const { return floats(moment1_); }
  float* moment2() const { return floats(moment2_); }

 private:
  AdamWSettings settings_;
  const SlotTable& layout_;
  at::Tensor moment1_, moment2_;
  std::int64_t steps_ = 0;
};

}  // namespace rlflow
