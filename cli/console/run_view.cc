// Events of a run, folded into its state.
#include "cli/console/run_view.h"

#include <numeric>

namespace rlflow {
namespace {

constexpr std::size_t kCurveLength = 4096;

void push(Curve& curve, Step step, double value) {
  if (curve.values.size() == kCurveLength) curve.values.erase(curve.values.begin());
  curve.values.push_back(value);
  curve.step = step;
}

bool ends_with_metric(const std::string& full, const std::string& metric) {
  return full == metric || full.ends_with("." + metric);
}

NodeView* node_of(RunView& view, const RunEvent& event) {
  return event.node.valid() && event.node.index() < view.nodes.size() ? &view.nodes[event.node.index()] : nullptr;
}

void start_task(NodeView& node, const RunEvent& event) {
  node.state = NodeView::State::running;
  node.step = event.step;
  node.done = node.total = 0;
}

// Not one of the step's own: of an evaluation, or of a round of a refill.
bool stands_aside(const RunView& view, const std::string& metric) {
  for (const NodeView& node : view.nodes) {
    if ((node.scheduled || node.round > 0) && metric.starts_with(node.name + ".")) return true;
  }
  return false;
}

void commit_step(RunView& view, const RunEvent& event) {
  view.committed = event.step;
  view.doing.clear();
  view.latest.clear();
  for (const Metric& metric : event.metrics) {
    if (stands_aside(view, metric.name)) continue;
    view.latest[metric.name] = metric.value;
    if (ends_with_metric(metric.name, "reward/mean")) push(view.reward, event.step, metric.value);
    if (ends_with_metric(metric.name, "response_length/mean")) push(view.length, event.step, metric.value);
  }
  if (view.step_milliseconds.size() == RunView::kStepsTimed)
    view.step_milliseconds.erase(view.step_milliseconds.begin());
  view.step_milliseconds.push_back(event.milliseconds);
}

}  // namespace

RunView new_view(const Plan& plan) {
  RunView view;
  view.flow = plan.flow;
  view.total = plan.stop_after;
  for (const PlanNode& node : plan.nodes) {
    NodeView entry;
    entry.name = node.name;
    entry.scheduled = node.schedule.has_value();
    entry.round = node.round;
    view.nodes.push_back(entry);
  }
  return view;
}

void apply(RunView& view, const RunEvent& event) {
  NodeView* node = node_of(view, event);
  switch (event.type) {
    case RunEvent::Type::opened:
      view.run_dir = event.text;
      view.first = view.committed = event.step;
      view.total = event.total;
      return;
    case RunEvent::Type::recovering:
      view.doing = "redoing update " + std::to_string(event.step) + " of " + std::to_string(event.total);
      return;
    case RunEvent::Type::task_started:
      if (node != nullptr) start_task(*node, event);
      return;
    case RunEvent::Type::task_progress:
      if (node == nullptr) return;
      node->done = event.done;
      node->total = event.total;
      return;
    case RunEvent::Type::task_done:
      if (node == nullptr) return;
      node->state = NodeView::State::done;
      node->milliseconds = event.milliseconds;
      if (!event.samples.empty()) view.sample = event.samples.front();
      return;
    case RunEvent::Type::task_failed:
      if (node != nullptr) ++node->failures;
      view.warnings.push_back(event.text);
      return;
    case RunEvent::Type::step_committed: commit_step(view, event); return;
    case RunEvent::Type::evaluated:
      for (const Metric& metric : event.metrics) {
        if (ends_with_metric(metric.name, "accuracy")) push(view.accuracy, event.step, metric.value);
      }
      if (!event.samples.empty()) view.sample = event.samples.front();
      return;
    case RunEvent::Type::warning: view.warnings.push_back(event.text); return;
    case RunEvent::Type::checkpointed:
      if (node != nullptr) node->state = NodeView::State::done;
      return;
    case RunEvent::Type::paused:
    case RunEvent::Type::finished: return;
  }
}

double seconds_per_step(const RunView& view) {
  if (view.step_milliseconds.empty()) return 0;
  double sum = std::accumulate(view.step_milliseconds.begin(), view.step_milliseconds.end(), 0.0);
  return sum / 1000.0 / static_cast<double>(view.step_milliseconds.size());
}

std::optional<double> latest(const RunView& view, const std::string& metric) {
  for (const auto& [name, value] : view.latest) {
    if (ends_with_metric(name, metric)) return value;
  }
  return std::nullopt;
}

}  // namespace rlflow
