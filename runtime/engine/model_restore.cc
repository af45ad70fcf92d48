// Checkpoint and redo.
#include "runtime/engine/model_restore.h"

#include <charconv>

#include "runtime/contract/check.h"
#include "runtime/engine/source_files.h"
#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

[[noreturn]] void other_weights(const std::string& message) {
  throw StoreError(ExitCode::store_damaged, "R0209", message,
                   "compare the environments of the run's epochs: another CPU or library gives other bits");
}

void load_checkpoint(const RecordedParts& parts, const std::string& model, ModelInstance& instance,
                     const VersionState& version) {
  RLFLOW_CHECK(version.checkpoint, "the version has a checkpoint");
  std::string prefix = model + "/";
  for (const Member& member : members_of(parts.database, *version.checkpoint)) {
    if (!member.name.starts_with(prefix)) continue;
    instance.load(member.name.substr(prefix.size()), parts.artifacts.get(member.part));
  }
  if (version.state && instance.state_digest() != *version.state) {
    other_weights("the checkpoint of `" + model + "` gave another state than the one that was saved");
  }
}

std::string first_difference(const RecordedParts& parts, const std::string& model, const ModelInstance& instance,
                             const VersionState& version, Version number) {
  if (!version.checkpoint || number == 0) return {};
  for (const Member& member : members_of(parts.database, *version.checkpoint)) {
    if (member.name != model + "/parameters") continue;
    std::string tensor = instance.first_difference(parts.artifacts.get(member.part));
    return tensor.empty() ? std::string() : "; `" + tensor + "` is the first tensor that differs";
  }
  return {};
}

TaskInputs recorded_inputs(const RecordedParts& parts, NodeId update, Version number, const Digest& batch) {
  TaskName name{parts.plan.nodes[update.index()].name, number, 0};
  TaskInputs inputs;
  inputs.payloads.resize(parts.plan.nodes[update.index()].inputs.size());
  for (const Member& member : members_of(parts.database, batch)) {
    std::size_t port = 0;
    std::from_chars(member.name.data(), member.name.data() + member.name.size(), port);
    RLFLOW_CHECK(port < inputs.payloads.size(), "a batch has the ports of its update");
    std::string what = "input " + member.name + " of `" + to_text(name) + "`";
    inputs.payloads[port] = read_recorded(parts, input_kind(parts.plan, update, port), member.part, what);
  }
  return inputs;
}

void redo_update(const RecordedParts& parts, ModelId model, Node& node, ModelInstance& instance,
                 const VersionState& version, Version number) {
  NodeId update = parts.graph.update_of(model);
  TaskInputs inputs = recorded_inputs(parts, update, number, *version.batch);
  inputs.model = &instance;
  TaskContext context;
  context.step = number;
  context.version = number;
  context.run_seed = parts.seed;
  context.decisions = decisions_of(parts.database, *version.update_task);
  try {
    node.run(inputs, context);
  } catch (const std::exception& error) {
    // It ran to its end once, from the same inputs: what failed is this machine, not the record.
    throw StoreError(ExitCode::person_must_act, "R0105",
                     "redoing the update of step " + std::to_string(number) + " failed: " + error.what(),
                     "mend the cause, then resume the run again: nothing of it is lost");
  }
}

void require_checkpoint(const RecordedParts& parts, const std::string& model, const VersionState& version,
                        Version number) {
  if (version.checkpoint) return;
  throw StoreError(ExitCode::could_not_answer, "R0219",
                   "version " + std::to_string(number) + " of `" + model + "` was made by run `" +
                       recorded_run(parts.database).parent + "`, which this one was forked from",
                   "ask that run for it");
}

}  // namespace

void restore_model(const RecordedParts& parts, ModelId model, ModelInstance& instance, Version from, Version version,
                   const Reached& reached) {
  const std::string& name = parts.plan.models[model.index()].name;
  std::unique_ptr<Node> node;
  for (Version number = from; number <= version; ++number) {
    auto recorded = find_version(parts.database, name, number);
    RLFLOW_CHECK(recorded, "versions are gapless");
    bool inherited = number <= parts.inherited;
    if (number > from && inherited) require_checkpoint(parts, name, *recorded, number);
    if (number > 0 && (number == from || inherited)) load_checkpoint(parts, name, instance, *recorded);
    if (number > from && !inherited && recorded->outcome != "held" && recorded->batch) {
      if (!node) node = parts.library.make_node(parts.plan, parts.graph.update_of(model));
      redo_update(parts, model, *node, instance, *recorded, number);
    }
    WeightsDigest weights = instance.weights_digest();
    if (weights != recorded->weights) {
      std::string how = number > from && !inherited ? "redone"
                        : number == 0               ? "loaded"
                                                    : "restored from its checkpoint";
      other_weights("version " + std::to_string(number) + " of `" + name + "`, " + how +
                    ", has other weights than recorded" + first_difference(parts, name, instance, *recorded, number));
    }
    reached(number, weights);
  }
}

PayloadPtr read_recorded(const RecordedParts& parts, Kind kind, const Digest& digest, const std::string& what) {
  if (collected(parts.database, digest)) {
    throw StoreError(ExitCode::could_not_answer, "R0216", what + " was thrown away by `gc`",
                     "ask for a later step, or restore the run from a copy made before");
  }
  return parts.library.read_payload(kind, parts.artifacts.get(digest));
}

Kind input_kind(const Plan& plan, NodeId node, std::size_t port) {
  const PlanInput& input = plan.nodes[node.index()].inputs.at(port);
  return plan.nodes[input.node.index()].outputs.at(static_cast<std::size_t>(input.port)).type.kind;
}

void require_unchanged_files(const RecordedParts& parts) {
  for (const HashedFile& file : recorded_files(parts.database)) require_unchanged(parts.plan.root, file);
}

}  // namespace rlflow
