// The rules in order, and those about the flow as a whole.
#include "compiler/check.h"

namespace rlflow {

void check(const CheckInput& input, Diagnostics& diagnostics) {
  check_flow(input, diagnostics);
  check_versions(input, diagnostics);
  check_sampling(input, diagnostics);
  check_kl(input, diagnostics);
  check_demands(input, diagnostics);
  check_objective(input, diagnostics);
  check_rows(input, diagnostics);
  check_refill(input, diagnostics);
  check_batches(input, diagnostics);
  check_files(input, diagnostics);
  check_adapters(input, diagnostics);
  check_tokenizers(input, diagnostics);
  if (input.mode == CompileMode::run) check_executable(input, diagnostics);
  if (!diagnostics.has_errors()) check_unused(input, diagnostics);
}

void check_flow(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  if (pipeline.flow.empty()) {
    if (input.mode == CompileMode::run && !input.broken) {
      diagnostics.error("E0212", {FileId(0), 0, 0}, "this file has no flow, so there is nothing to run")
          .note("a file of declarations alone is a library; other programs import it");
    }
    return;
  }
  if (!pipeline.stop_after && !pipeline.stop_span.valid() && !input.broken) {
    diagnostics.error("E0410", pipeline.flow_span, "`" + pipeline.flow + "` never stops")
        .help("add `stop after 1000` to the flow");
  }
  for (const FlowNode& node : pipeline.nodes) {
    if (node.signature == nullptr) continue;
    if (node.signature->only_in_every && !node.block.valid()) {
      diagnostics.error("E0407", node.callee_span, "`" + node.op + "` must stand inside `every`")
          .help("write `every 10 steps { " + std::string(input.sources.text(node.span)) + " }`");
    }
    if (!node.signature->only_in_every && node.block.valid()) {
      diagnostics.error("E0407", node.callee_span, "`" + node.op + "` cannot stand inside `every`")
          .at(pipeline.blocks[node.block.index()].span, "this block runs beside the steps")
          .note("`every` holds evaluate and checkpoint; all else runs each step");
    }
  }
}

}  // namespace rlflow
