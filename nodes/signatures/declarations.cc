// Settings of models, groups, replicas and sync, and those that every node takes.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

// Learning rates as functions of the applied optimizer steps.
std::vector<CallSpec> schedules() {
  const SettingSpec peak = real("peak", above(0), "the learning rate after warm-up");
  const SettingSpec warmup =
      with_default(integer("warmup", at_least(0), "optimizer steps of linear rise from 0 to the peak"), 0);
  const SettingSpec total = integer("total", at_least(1), "optimizer steps until the floor");
  const SettingSpec floor = with_default(real("floor", between(0, 1), "share of the peak at the end"), 0.0);
  return {
      {"constant", {peak, warmup}, "the peak after warm-up"},
      {"linear", {peak, warmup, total, floor}, "falls on a line from the peak to the floor"},
      {"cosine", {peak, warmup, total, floor}, "falls along half a cosine from the peak to the floor"},
  };
}

CallSpec adamw() {
  SettingSpec lr = setting("lr", SettingType::real_or_call, above(0), "learning rate, or its schedule");
  lr.calls = schedules();
  SettingSpec betas =
      with_default(setting("betas", SettingType::real_list, between(0, 1), "decay of the first and second moment"),
                   Value(List{Value(0.9), Value(0.999)}));
  betas.length = 2;
  return {"adamw",
          {
              lr,
              betas,
              with_default(real("eps", above(0), "added to the root of the second moment"), 1e-8),
              with_default(real("decay", at_least(0), "decoupled weight decay, of matrices"), 0.0),
              flag("decay_all", "decays norms and biases too"),
              with_default(real("clip", at_least(0), "largest norm of the whole gradient; 0: not clipped"), 1.0),
          },
          "AdamW with decoupled weight decay"};
}

CallSpec lora() {
  return {"lora",
          {integer("rank", at_least(1), "rank of the added matrices"),
           real("alpha", above(0), "their scale is alpha ÷ rank")},
          "trains low-rank additions instead of the matrices"};
}

}  // namespace

std::vector<SettingSpec> common_settings() {
  return {
      outside_meaning(with_default(integer("retry", between(0, 100), "times that a failed task is run again"), 0)),
      outside_meaning(optional(setting("timeout", SettingType::duration, above(0), "longest time of a task"))),
      with_default(word("on_failure", {"pause", "drop_group", "fail"},
                        "when retries are used up: stop resumable, go on without the group (`score` alone), or fail"),
                   "pause"),
      with_default(integer("from", at_least(1), "skipped before this step"), 1),
  };
}

std::vector<SettingSpec> model_settings() {
  return {
      flag("trainable", "updates may change it"),
      not_executable(with_default(word("head", {"lm", "value", "reward"}, "what the last layer gives"), "lm"),
                     {"reward"}),
      with_default(word("dtype", {"f32", "bf16"}, "of the parameters; on a GPU of activations too"), "f32"),
      with_default(word("master", {"f32"}, "dtype of the weights that the optimizer moves"), "f32"),
      not_executable(outside_meaning(
          with_default(word("offload", {"none", "cpu"}, "where parameters wait while unused"), "none"))),
      optional(call("optim", {adamw()}, "the optimizer of a trainable model")),
      not_executable(
          with_default(word("template", {"none", "auto"}, "chat template that a judge's input is given"), "none")),
      not_executable(optional(call("lora", {lora()}, "low-rank training"))),
  };
}

std::vector<SettingSpec> group_settings() {
  return {
      with_default(integer("threads", between(1, 1024), "cpu: threads of the group's tasks"), 1),
      not_executable(with_default(integer("tp", at_least(1), "devices that share one layer"), 1)),
      not_executable(optional(integer("dp", at_least(1), "copies that share a batch; devices ÷ tp if absent"))),
  };
}

std::vector<SettingSpec> replica_settings() {
  return {optional(word("dtype", {"f32", "bf16"}, "its model's if absent"))};
}

std::vector<SettingSpec> sync_settings() {
  return {not_executable(
      outside_meaning(with_default(word("via", {"auto", "copy", "nccl"}, "how weights travel"), "auto")), {"nccl"})};
}

}  // namespace rlflow::signatures
