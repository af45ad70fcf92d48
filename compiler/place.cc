// Puts nodes on groups and compares groups with each other and with the machine.
#include "compiler/place.h"

#include <algorithm>
#include <string>

#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

std::string range_text(std::int32_t first, std::int32_t last) {
  return "gpu[" + std::to_string(first) + ".." + std::to_string(last) + "]";
}

void check_overlap(const Pipeline& pipeline, Diagnostics& diagnostics) {
  for (std::size_t b = 0; b < pipeline.groups.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const Group& first = pipeline.groups[a];
      const Group& second = pipeline.groups[b];
      if (!first.known || !second.known || first.device != DeviceKind::gpu || second.device != DeviceKind::gpu)
        continue;
      std::int32_t shared = std::max(first.first, second.first);
      if (shared >= std::min(first.last, second.last)) continue;
      diagnostics.error("E0501", second.devices_span, "GPU " + std::to_string(shared) + " belongs to two groups")
          .label("`" + second.name + "` holds " + std::to_string(second.first) + " to " +
                 std::to_string(second.last - 1))
          .at(first.devices_span,
              "`" + first.name + "` holds " + std::to_string(first.first) + " to " + std::to_string(first.last - 1))
          .note("sharing on purpose is one group with two nodes on it")
          .help("device ranges exclude the end, `gpu[0..4]` holds 0 to 3");
    }
  }
}

void check_present(const Pipeline& pipeline, const Usage& usage, const Cluster& cluster, Diagnostics& diagnostics) {
  auto present = static_cast<std::int32_t>(cluster.gpus.size());
  for (GroupId id : usage.groups) {
    const Group& group = pipeline.groups[id.index()];
    if (!group.known || group.device != DeviceKind::gpu || group.last <= present) continue;
    std::int32_t missing = std::max(group.first, present);
    Diagnostic& message = diagnostics.error("E0502", group.devices_span, "no GPU " + std::to_string(missing) + " here");
    message.label("`" + group.name + "` holds " + std::to_string(group.first) + " to " +
                  std::to_string(group.last - 1));
    message.note(cluster.name + " has " + (present == 0 ? "no GPU" : range_text(0, present)));
    message.help("`-s '" + group.name + "=" + (present == 0 ? "cpu" : range_text(0, present)) + "'`");
  }
}

void check_one_device(const Pipeline& pipeline, const Usage& usage, Diagnostics& diagnostics) {
  for (GroupId id : usage.groups) {
    const Group& group = pipeline.groups[id.index()];
    if (!group.known || (group.tp == 1 && group.dp == 1)) continue;
    diagnostics.error("E0510", group.devices_span, "this version runs one device a group")
        .label("tp " + std::to_string(group.tp) + ", dp " + std::to_string(group.dp))
        .help("give it one, e.g. `-s '" + group.name + "=gpu[" + std::to_string(group.first) + ".." +
              std::to_string(group.first + 1) + "]'`");
  }
}

GroupId group_of(const Pipeline& pipeline, const FlowNode& node, Diagnostics& diagnostics) {
  GroupId inherited;
  if (node.replica.valid())
    inherited = pipeline.replicas[node.replica.index()].group;
  else if (node.model.valid())
    inherited = pipeline.models[node.model.index()].group;
  if (node.on.valid() && inherited.valid() && node.on != inherited) {
    diagnostics
        .error("E0512", node.callee_span,
               "`" + node.name + "` runs where its model is, on `" + pipeline.groups[inherited.index()].name + "`")
        .note("a model computes on its own group; a `replica` brings its weights to another")
        .help("take `on " + pipeline.groups[node.on.index()].name + "` away");
  }
  return inherited.valid() ? inherited : node.on;
}

}  // namespace

std::int64_t staleness(const Sync& sync) { return sync.every - 1 + sync.lag; }

PlacedPipeline place(const Pipeline& pipeline, const Cluster* cluster, bool for_run, Diagnostics& diagnostics) {
  PlacedPipeline placed;
  for (const FlowNode& node : pipeline.nodes) placed.node_groups.push_back(group_of(pipeline, node, diagnostics));
  for (std::size_t r = 0; r < pipeline.replicas.size(); ++r) {
    const Replica& replica = pipeline.replicas[r];
    const Sync* sync = pipeline.sync_of(ReplicaId(r));
    bool same = replica.model.valid() && replica.group == pipeline.models[replica.model.index()].group &&
                replica.dtype == pipeline.models[replica.model.index()].dtype;
    placed.replicas_in_place.push_back(same && (sync == nullptr || staleness(*sync) == 0));
  }
  Usage usage = usage_of(pipeline);
  check_overlap(pipeline, diagnostics);
  if (cluster != nullptr) check_present(pipeline, usage, *cluster, diagnostics);
  if (for_run) check_one_device(pipeline, usage, diagnostics);
  return placed;
}

}  // namespace rlflow
