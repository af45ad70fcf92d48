// Which number does `step.kl` name, and does the node report it?
#include "compiler/metric_inputs.h"

#include <algorithm>
#include <vector>

#include "compiler/bind_node.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

const OutputSpec* spec_of(const FlowNode& maker, std::int32_t port) {
  if (maker.signature == nullptr) return nullptr;
  auto at = static_cast<std::size_t>(port);
  return at < maker.signature->outputs.size() ? &maker.signature->outputs[at] : nullptr;
}

// Whether the node is given the input or the setting without which it does not report the metric.
bool reports(const FlowNode& maker, const MetricSpec& metric) {
  if (metric.with.empty() || setting(maker.settings, metric.with) != nullptr) return true;
  for (const NodeInput& input : maker.inputs) {
    const ArgumentSpec& argument = maker.signature->arguments[static_cast<std::size_t>(input.argument)];
    if (argument.name == metric.with) return input.from != NodeInput::From::absent;
  }
  return false;
}

}  // namespace

std::optional<MetricReference> metric_reference(const Scope& scope, const std::string& dotted) {
  std::size_t dot = dotted.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const Symbol* base = scope.find(dotted.substr(0, dot));
  if (base == nullptr || base->kind != SymbolKind::output) return std::nullopt;
  return MetricReference{base, dotted.substr(dot + 1)};
}

Kind kind_of(const NodeOutput& output, const std::string& metric) {
  return metric.empty() ? output.kind : Kind::scalar;
}

bool check_metric(const FlowNode& maker, std::int32_t port, const std::string& metric, Span span,
                  Diagnostics& diagnostics) {
  const NodeOutput& output = maker.outputs[static_cast<std::size_t>(port)];
  if (metric.empty() || !output.known) return true;
  if (output.kind != Kind::metrics) {
    diagnostics.error("E0219", span, "`" + output.name + "` is " + noun_of(output.kind) + ", and has no parts")
        .at(output.span, "made here")
        .note("`update` and `evaluate` give metrics, whose numbers are read as `step.loss`");
    return false;
  }
  const OutputSpec* spec = spec_of(maker, port);
  if (spec == nullptr) return true;
  std::vector<std::string> names;
  for (const MetricSpec& known : spec->metrics) {
    if (known.name == metric && reports(maker, known)) return true;
    if (known.name == metric) {
      diagnostics.error("E0219", span, "`" + output.name + "` has no metric `" + metric + "`")
          .at(maker.callee_span, "no `" + known.with + "`")
          .note("`" + maker.op + "` reports `" + metric + "` only with `" + known.with + "`");
      return false;
    }
    if (reports(maker, known)) names.push_back(known.name);
  }
  Diagnostic& message = diagnostics.error("E0219", span, "`" + output.name + "` has no metric `" + metric + "`");
  message.at(output.span, "made here");
  const std::vector<std::string> close = close_names(metric, names);
  if (close.empty()) message.note("its metrics are " + quoted_list(names, "and"));
  Span last{span.file, span.end - static_cast<std::uint32_t>(metric.size()), span.end};
  for (const std::string& name : close)
    message.fix("did you mean `" + output.name + "." + name + "`?", Applicability::likely, {{last, name}});
  return false;
}

std::vector<const MetricSpec*> reported_metrics(const FlowNode& maker, const NodeOutput& output) {
  std::vector<const MetricSpec*> reported;
  const OutputSpec* spec = spec_of(maker, static_cast<std::int32_t>(&output - maker.outputs.data()));
  if (spec == nullptr) return reported;
  for (const MetricSpec& metric : spec->metrics) {
    if (reports(maker, metric)) reported.push_back(&metric);
  }
  return reported;
}

std::string metric_examples(const FlowNode& maker, const NodeOutput& output) {
  std::vector<std::string> names;
  for (const MetricSpec* metric : reported_metrics(maker, output)) {
    if (names.size() < 3) names.push_back(output.name + "." + metric->name);
  }
  return quoted_list(names);
}

}  // namespace rlflow
