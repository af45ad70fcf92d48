// Numbers of a metrics output as inputs of another node: `step.kl`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"

namespace rlflow {

// `step.kl` taken apart, where `step` is an output of a node.
struct MetricReference {
  const Symbol* output;
  std::string metric;
};
std::optional<MetricReference> metric_reference(const Scope& scope, const std::string& dotted);

// What the input is of: its output's kind, or a scalar where it names one metric.
Kind kind_of(const NodeOutput& output, const std::string& metric);

// Whether the output has this metric; else reports at `span` that it has none, or only with another input. The node
// is bound already. True for an empty metric.
bool check_metric(const FlowNode& maker, std::int32_t port, const std::string& metric, Span span,
                  Diagnostics& diagnostics);

// The metrics of this output that can be read: those the node reports with the inputs and settings it is given.
std::vector<const MetricSpec*> reported_metrics(const FlowNode& maker, const NodeOutput& output);

// "`step.kl` or `step.loss`" for the help of a message where a whole metrics output stands for a number.
std::string metric_examples(const FlowNode& maker, const NodeOutput& output);

}  // namespace rlflow
