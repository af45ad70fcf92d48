// How much memory does a program need on each device? Arithmetic on a Plan; nothing is allocated.
//
// With P parameters, d bytes of the dtype (f32 4, bf16 2), h hidden, q = heads x head_dim, kv = kv_heads x head_dim,
// f intermediate, L layers, V vocabulary, on one device of a group with tp:
//   weights      P d / tp;  on the CPU its matrices once more, in the order that the products read; there d = 4 also of
//                bf16, whose rounded numbers, and all activations, are held as f32
//   gradients    4 P / tp  (f32); on the CPU one a lane: 4 lanes up to 16 Mi parameters, else 1
//   moments      8 P / tp  (AdamW, f32)
//   master       2 P / tp  for bf16: the 16 bits that make it f32; on the CPU 4 P; 0 for f32
//   replica      P d / tp, and 0 where it is its model's memory
// With adapters (`lora`) gradients and moments are of A, their number, and there is no master; on the CPU
//   adapters     8 A, A once more turned;  base_of and a replica share the weights and hold the matrices that have
//                adapters once more, in the order that the products read; on a GPU the sums stand beside the base
//   offload=cpu  P d on the host, and P d / tp on the device while a task uses it
//   KV cache     tokens x L x 2 kv d / tp; tokens = `budget`, else every prompt once and every response whole
//   activations  forward   m ((4 h + (2 q + 2 kv + 3 f) / tp) d) + c V 4 / tp
//                backward  m (L (2 h + (2 q + 2 kv + 2 f) / tp) d + L 4 heads / tp + (4 h + 2 f / tp) d) + 2 c V 4 / tp
//     m = `micro` tokens, else a rank's whole (mini)batch (on the CPU 512 rows or the longest sequence), times the
//     lanes on the CPU: 4 forward; c = min(m, 1024) rows of logits at once; c V counts for models with a token head
//     alone.
// Every dp rank holds all of this. A group runs one task at a time, so a device needs what stays (weights, gradients,
// moments, copies) and the largest of its tasks. A GPU keeps 1 GiB for its context and libraries. Assumed: no
// activation checkpointing; the allocator returns a task's memory to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/planning/plan_sizes.h"
#include "runtime/contract/cluster.h"
#include "runtime/contract/plan.h"

namespace rlflow {

enum class PartKind {
  weights,
  adapters,
  gradients,
  moments,
  master,
  replica,
  offloaded,
  kv_cache,
  activations,
  outputs,
  reserve
};
const char* part_name(PartKind kind);

struct MemoryPart {
  PartKind kind = PartKind::weights;
  ModelId model;                // whose
  ReplicaId replica;            // of a copy
  NodeId task;                  // held while this node runs; invalid: held always
  GroupId group;                // that runs the task
  std::optional<double> bytes;  // unknown where the model is
};

// Each device of a group, or the host.
struct DeviceNeed {
  GroupId group;  // invalid: the host, with all groups on the CPU
  std::vector<MemoryPart> parts;
  double always = 0;
  double peak = 0;              // with the largest task of each group
  std::vector<NodeId> largest;  // those tasks
  bool complete = true;         // false: a part is unknown, and the sums are too small
  std::uint64_t there = 0;      // 0: not known
};

// GPU groups in their order, the host last.
std::vector<DeviceNeed> memory_of(const Plan& plan, const std::vector<ModelFacts>& models, const PlanSizes& sizes,
                                  const Cluster& cluster);

}  // namespace rlflow
