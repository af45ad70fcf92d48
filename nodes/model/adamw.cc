// AdamW with decoupled weight decay and its learning-rate schedules.
#include "nodes/model/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

RateSchedule schedule_of(const Value& value) {
  RateSchedule schedule;
  if (const auto* call = value.get<CallValue>()) {
    const Attributes& arguments = call->named;
    schedule.peak = real_at(arguments, "peak");
    schedule.warmup = int_at(arguments, "warmup");
    if (call->name == "constant") return schedule;
    RLFLOW_CHECK(call->name == "linear" || call->name == "cosine", call->name);
    schedule.kind = call->name == "linear" ? RateScheduleKind::linear : RateScheduleKind::cosine;
    schedule.total = int_at(arguments, "total");
    schedule.floor = real_at(arguments, "floor");
    return schedule;
  }
  schedule.peak = real_at({{"lr", value}}, "lr");
  return schedule;
}

// In double, over fixed parts, so that the sum has one order at any number of threads.
double norm(const SlotTable& layout, const float* gradient, std::int32_t threads) {
  std::vector<double> squares(layout.slots.size());
  run_lanes(static_cast<std::int64_t>(squares.size()), threads, [&](std::int64_t i) {
    const ParameterSlot& slot = layout.slots[static_cast<std::size_t>(i)];
    squares[static_cast<std::size_t>(i)] = cpu::kernels().sum_of_squares(gradient + slot.offset, slot.count);
  });
  double total = 0;
  for (double square : squares) total += square;
  return std::sqrt(total);
}

}  // namespace

double RateSchedule::rate(std::int64_t step) const {
  const double rise = warmup > 0 ? std::min(1.0, static_cast<double>(step) / static_cast<double>(warmup)) : 1.0;
  const double t = std::min(1.0, static_cast<double>(step - 1) / static_cast<double>(total));
  switch (kind) {
    case RateScheduleKind::constant: return peak * rise;
    case RateScheduleKind::linear: return peak * rise * (floor + (1 - floor) * (1 - t));
    case RateScheduleKind::cosine:
      return peak * rise * (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * t)));
  }
  return 0;
}

AdamWSettings adamw_settings(const CallValue& optim) {
  RLFLOW_CHECK(optim.name == "adamw", optim.name);
  const Attributes& arguments = optim.named;
  const auto* betas = value_at(arguments, "betas").get<List>();
  RLFLOW_CHECK(betas && betas->size() == 2, "betas are two numbers");
  AdamWSettings settings;
  settings.schedule = schedule_of(value_at(arguments, "lr"));
  settings.beta1 = real_at({{"beta1", (*betas)[0]}}, "beta1");
  settings.beta2 = real_at({{"beta2", (*betas)[1]}}, "beta2");
  settings.eps = real_at(arguments, "eps");
  settings.decay = real_at(arguments, "decay");
  settings.decay_all = bool_at(arguments, "decay_all");
  settings.clip = real_at(arguments, "clip");
  return settings;
}

AdamW::AdamW(AdamWSettings settings, const SlotTable& layout)
    : settings_(settings), layout_(layout), moment1_(zero_floats(layout.size)), moment2_(zero_floats(layout.size)) {}

AdamWStep AdamW::step(float* parameters, const float* gradient, std::int32_t threads) {
  AdamWStep result;
  result.learning_rate = settings_.schedule.rate(steps_ + 1);
  result.gradient_norm = norm(layout_, gradient, threads);
  if (!std::isfinite(result.gradient_norm)) return result;
  result.applied = true;
  ++steps_;
  const auto t = static_cast<double>(steps_);
  cpu::AdamStep step{};
  step.learning_rate = static_cast<float>(result.learning_rate);
  step.beta1 = static_cast<float>(settings_.beta1);
  step.beta2 = static_cast<float>(settings_.beta2);
  step.eps = static_cast<float>(settings_.eps);
  step.gradient_scale =
      settings_.clip > 0 ? static_cast<float>(std::min(1.0, settings_.clip / (result.gradient_norm + 1e-6))) : 1.0f;
  step.correction1 = static_cast<float>(1 - std::pow(settings_.beta1, t));
  step.root_correction2 = static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, t)));
  run_lanes(static_cast<std::int64_t>(layout_.slots.size()), threads, [&](std::int64_t i) {
    const ParameterSlot& slot = layout_.slots[static_cast<std::size_t>(i)];
    cpu::AdamStep own = step;
    own.decay = slot.role != ParameterRole::matrix && !settings_.decay_all ? 0.0f : static_cast<float>(settings_.decay);
    cpu::kernels().adamw(own, slot.count, parameters + slot.offset, gradient + slot.offset, moment1() + slot.offset,
                         moment2() + slot.offset);
  });
  return result;
}

}  // namespace rlflow
