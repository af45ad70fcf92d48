// Do data sets have an end where one is needed?
#include <string>

#include "compiler/check.h"

namespace rlflow {
namespace {

bool is_endless(const Source& data) {
  return data.known && data.signature != nullptr && data.signature->endless &&
         setting(data.settings, "size") == nullptr;
}

Diagnostic& report(const Source& data, Span at, const std::string& message, Diagnostics& diagnostics) {
  return diagnostics.error("E0321", at, message)
      .at(data.name_span, "a generator, which makes rows without end")
      .help("give `" + data.name + "` a number of rows: `size = 256`");
}

// The argument that names the data set, as written.
Span data_span(const FlowNode& node) {
  for (const NodeInput& input : node.inputs) {
    if (node.signature->arguments[static_cast<std::size_t>(input.argument)].role == ArgumentRole::data)
      return input.span;
  }
  return node.callee_span;
}

}  // namespace

void check_rows(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (const FlowNode& node : pipeline.nodes) {
    if (!is_live(node) || !node.data.valid() || !node.signature->only_in_every) continue;
    const Source& data = pipeline.data[node.data.index()];
    if (!is_endless(data)) continue;
    report(data, data_span(node), "`" + node.op + "` asks every row of `" + data.name + "`, which has no last one",
           diagnostics);
  }
  for (DataId id : usage_of(pipeline).data) {
    const Source& data = pipeline.data[id.index()];
    const Value* shuffle = setting(data.settings, "shuffle");
    if (shuffle == nullptr || shuffle->get<bool>() == nullptr || !*shuffle->get<bool>() || !is_endless(data)) continue;
    report(data, data.settings.at("shuffle").span, "`shuffle` of `" + data.name + "` needs a last row", diagnostics);
  }
}

}  // namespace rlflow
