// Do data sets hold the rows that nodes take from them, and have an end where one is needed?
#include <algorithm>
#include <string>
#include <vector>

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

// What the node takes from its data: a take node the kind that it makes, evaluate prompts.
Kind wanted_rows(const NodeSignature& signature) {
  for (const OutputSpec& output : signature.outputs) {
    if (output.kind == Kind::examples || output.kind == Kind::pairs) return output.kind;
  }
  return Kind::prompts;
}

// A file holds examples or pairs only where its declaration says in which fields.
void check_fields(const FlowNode& node, const Source& data, Kind wanted, Diagnostics& diagnostics) {
  auto needed = data.signature->fields.find(wanted);
  if (needed == data.signature->fields.end()) return;
  std::string missing;
  for (const std::string& name : needed->second) {
    const Value* value = setting(data.settings, name);
    if (value == nullptr || value->is_null()) missing += (missing.empty() ? "" : ", ") + name + " = \"" + name + "\"";
  }
  if (missing.empty()) return;
  const std::string kind(kind_name(wanted));
  diagnostics.error("E0320", data_span(node), "`" + data.name + "` holds no " + kind)
      .at(data.span, "does not say in which fields its " + kind + " stand")
      .help("name the fields of the file: `{ " + missing + " }`");
}

void check_kind(const FlowNode& node, const Source& data, Diagnostics& diagnostics) {
  const std::vector<Kind>& kinds = data.signature->kinds;
  const Kind wanted = wanted_rows(*node.signature);
  if (std::find(kinds.begin(), kinds.end(), wanted) != kinds.end())
    return check_fields(node, data, wanted, diagnostics);
  std::string has;
  for (Kind kind : kinds) has += (has.empty() ? "" : " and ") + std::string(kind_name(kind));
  diagnostics.error("E0320", data_span(node), "`" + data.name + "` holds no " + std::string(kind_name(wanted)))
      .at(data.span, "gives " + has);
}

}  // namespace

void check_rows(const CheckInput& input, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  for (const FlowNode& node : pipeline.nodes) {
    if (!is_live(node) || !node.data.valid()) continue;
    const Source& data = pipeline.data[node.data.index()];
    if (data.known && data.signature != nullptr) check_kind(node, data, diagnostics);
    if (!node.signature->only_in_every || !is_endless(data)) continue;
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
