// Does a later name make a circle, or is a line only in the wrong place?
#include "compiler/flow_order.h"

#include <set>
#include <string>

#include "compiler/metric_inputs.h"

namespace rlflow {
namespace {

// The nodes whose outputs this node reads in the same step, by the names written.
std::vector<NodeId> reads_of(const WrittenFlow& flow, NodeId id) {
  std::vector<NodeId> reads;
  for (const ast::Argument& argument : flow.statements[id.index()]->call.arguments) {
    const auto* name = std::get_if<ast::Reference>(&argument.value.data);
    const Symbol* symbol = name ? flow.scope.find(name->name.text) : nullptr;
    if (auto metric = name && symbol == nullptr ? metric_reference(flow.scope, name->name.text) : std::nullopt)
      symbol = metric->output;
    if (symbol != nullptr && symbol->kind == SymbolKind::output) reads.push_back(NodeId(symbol->index));
  }
  return reads;
}

bool find_way(const WrittenFlow& flow, NodeId from, NodeId to, std::set<NodeId>& seen, std::vector<NodeId>& way) {
  way.push_back(from);
  if (from == to) return true;
  if (seen.insert(from).second) {
    for (NodeId next : reads_of(flow, from)) {
      if (find_way(flow, next, to, seen, way)) return true;
    }
  }
  way.pop_back();
  return false;
}

// Whether what is written, an output of the node or a metric of one, is a number, which `prev` can carry on.
bool is_number(const WrittenFlow& flow, NodeId id, const std::string& written) {
  if (metric_reference(flow.scope, written)) return true;
  for (const NodeSignature& signature : flow.catalog.nodes) {
    if (signature.op != flow.pipeline.node(id).op) continue;
    for (const OutputSpec& output : signature.outputs) {
      if (output.kind == Kind::scalar) return true;
    }
  }
  return false;
}

std::string line_of(const WrittenFlow& flow, Span span) {
  return std::to_string(flow.sources.position(span.file, span.begin).line);
}

void report_later(const WrittenFlow& flow, NodeId maker, Span span, Span defined, Diagnostics& diagnostics) {
  const std::string name(flow.sources.text(span));
  const std::string line = line_of(flow, defined);
  diagnostics.error("E0205", span, "`" + name + "` is defined on line " + line + ", after its use")
      .at(defined, "defined here")
      .help("move line " + line + " up" +
            (is_number(flow, maker, name) ? ", or read the last step's value: `prev(" + name + ", init=0.0)`" : ""));
}

}  // namespace

void report_order(const WrittenFlow& flow, NodeId reader, NodeId maker, Span span, Span defined,
                  Diagnostics& diagnostics) {
  std::vector<NodeId> way;
  std::set<NodeId> seen;
  if (!find_way(flow, maker, reader, seen, way)) return report_later(flow, maker, span, defined, diagnostics);
  const FlowNode& node = flow.pipeline.node(reader);
  Diagnostic& message = diagnostics.error("E0401", span, "`" + node.name + "` needs itself within one step");
  std::string circle = "`" + node.name + "` (line " + line_of(flow, node.span) + ")";
  for (NodeId id : way) {
    const FlowNode& on_the_way = flow.pipeline.node(id);
    circle += " needs `" + on_the_way.name + "`";
    if (id == reader) continue;
    circle += " (line " + line_of(flow, on_the_way.span) + ")";
    message.at(on_the_way.op_span, "on the way back to `" + node.name + "`");
  }
  message.note(circle);
  const std::string name(flow.sources.text(span));
  message.help(is_number(flow, maker, name)
                   ? "read last step's value: `prev(" + name + ", init=0.0)`; weights go back through `sync`"
                   : "read what an earlier line makes; weights go back through `sync`, numbers through `prev`");
}

}  // namespace rlflow
