// What can be checked and planned but not run by this version.
#include <string>
#include <vector>

#include "compiler/check.h"

namespace rlflow {
namespace {

void report(Span at, const std::string& what, Diagnostics& diagnostics) {
  diagnostics.error("E0511", at, "this version cannot run " + what)
      .note("`rlflow check` and `rlflow graph` know it already; running it comes later");
}

void check_settings(const Settings& settings, const std::vector<SettingSpec>& specs, Span otherwise,
                    Diagnostics& diagnostics) {
  for (const SettingSpec& spec : specs) {
    auto found = settings.find(spec.name);
    if (found == settings.end() || can_execute(spec, found->second.value)) continue;
    report(found->second.span.valid() ? found->second.span : otherwise,
           "`" + spec.name + " = " + to_text(found->second.value) + "`", diagnostics);
  }
}

void check_source(const Source& source, Diagnostics& diagnostics) {
  if (source.signature == nullptr) return;
  if (!source.signature->runs) {
    std::string what =
        source.signature->name.empty() ? "`" + source.source + "(...)`" : "`" + source.signature->name + "`";
    report(source.argument_span, what, diagnostics);
  }
  check_settings(source.settings, source.signature->settings, source.argument_span, diagnostics);
}

// A node that fails as a whole has no group to go on without.
void check_dropping(const FlowNode& node, Diagnostics& diagnostics) {
  auto found = node.settings.find("on_failure");
  if (found == node.settings.end() || node.signature->drops_groups) return;
  const Word* word = found->second.value.get<Word>();
  if (word == nullptr || word->name != "drop_group") return;
  diagnostics
      .error("E0511", found->second.span.valid() ? found->second.span : node.callee_span,
             "`" + node.op + "` fails as a whole, so this version cannot go on without a group of it")
      .help("write `on_failure = pause` here; `score` can drop a group");
}

}  // namespace

void check_executable(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  Usage usage = usage_of(pipeline);
  for (ModelId id : usage.models) {
    const Model& model = pipeline.models[id.index()];
    check_settings(model.settings, input.catalog.model_settings, model.name_span, diagnostics);
  }
  for (ReplicaId id : usage.replicas) {
    const Replica& replica = pipeline.replicas[id.index()];
    check_settings(replica.settings, input.catalog.replica_settings, replica.name_span, diagnostics);
    const Sync* sync = pipeline.sync_of(id);
    if (sync != nullptr) check_settings(sync->settings, input.catalog.sync_settings, sync->span, diagnostics);
  }
  for (DataId id : usage.data) check_source(pipeline.data[id.index()], diagnostics);
  for (RewardId id : usage.rewards) check_source(pipeline.rewards[id.index()], diagnostics);
  for (const FlowNode& node : pipeline.nodes) {
    if (!is_live(node)) continue;
    if (!node.signature->runs) {
      report(node.op_span, "`" + node.op + "` with these inputs", diagnostics);
      continue;
    }
    check_settings(node.settings, node.signature->settings, node.callee_span, diagnostics);
    check_settings(node.settings, input.catalog.common, node.callee_span, diagnostics);
    check_dropping(node, diagnostics);
  }
}

}  // namespace rlflow
