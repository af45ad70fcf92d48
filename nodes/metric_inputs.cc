// How does one number of a metrics output become an input?
#include "nodes/metric_inputs.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "nodes/batches.h"
#include "nodes/node_around.h"

namespace rlflow {
namespace {

// One input that is a metric: `step.kl`.
struct MetricInput {
  std::size_t index = 0;
  std::string maker;
  std::string metric;
};

double number_of(const Metrics& metrics, const MetricInput& input) {
  const std::string name = "`" + input.maker + "." + input.metric + "`";
  for (const auto& [metric, value] : metrics.values) {
    if (metric != input.metric) continue;
    if (!std::isfinite(value)) throw NumericsError(name + " is not finite");
    return value;
  }
  throw std::runtime_error(name + " was not reported in this step");
}

class WithMetricInputs final : public NodeAround {
 public:
  WithMetricInputs(std::unique_ptr<Node> inner, std::vector<MetricInput> metrics)
      : NodeAround(std::move(inner)), metrics_(std::move(metrics)) {}

 private:
  TaskInputs given(const TaskInputs& inputs) const override {
    TaskInputs read = inputs;
    for (const MetricInput& input : metrics_) {
      PayloadPtr& payload = read.payloads.at(input.index);
      // `init` of `prev` is a scalar already; an absent optional input stays absent.
      const auto* metrics = dynamic_cast<const Metrics*>(payload.get());
      if (metrics != nullptr) payload = std::make_shared<Scalar>(number_of(*metrics, input));
    }
    return read;
  }

  std::vector<MetricInput> metrics_;
};

}  // namespace

std::unique_ptr<Node> with_metric_inputs(std::unique_ptr<Node> inner, const Plan& plan, NodeId node) {
  std::vector<MetricInput> metrics;
  const std::vector<PlanInput>& inputs = plan.nodes[node.index()].inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].metric.empty()) metrics.push_back({i, plan.nodes[inputs[i].node.index()].name, inputs[i].metric});
  }
  if (metrics.empty()) return inner;
  return std::make_unique<WithMetricInputs>(std::move(inner), std::move(metrics));
}

}  // namespace rlflow
