// Questions that many ask of a pipeline.
#include "compiler/pipeline.h"

namespace rlflow {

const Sync* Pipeline::sync_of(ReplicaId id) const {
  for (const Sync& sync : syncs) {
    if (sync.replica == id) return &sync;
  }
  return nullptr;
}

PortType Pipeline::type_of(const NodeOutput& output) const {
  PortType type{output.kind, {}};
  for (DimId id : output.dims) type.dims.push_back(id.valid() ? dims[id.index()].name : "?");
  return type;
}

bool carries_tokens(Kind kind) {
  return kind == Kind::prompts || kind == Kind::examples || kind == Kind::pairs || kind == Kind::traj;
}

std::string override_address(const FlowNode& node) {
  return node.outputs.empty() || node.outputs[0].name.empty() ? node.op : node.outputs[0].name;
}

const Value* setting(const Settings& settings, const std::string& name) {
  auto found = settings.find(name);
  return found == settings.end() || found->second.value.is_null() ? nullptr : &found->second.value;
}

}  // namespace rlflow
