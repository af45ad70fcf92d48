// The lines of the plain form, the live view and the end.
#include "cli/console/lines.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rlflow {
namespace {

std::string formatted(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string step_text(const RunView& view, Step step) {
  std::string total = std::to_string(view.total);
  std::string text = std::to_string(step);
  return std::string(total.size() - std::min(total.size(), text.size()), ' ') + text + "/" + total;
}

std::string time_left(const RunView& view) {
  double each = seconds_per_step(view);
  return each > 0 ? clock_text(each * static_cast<double>(view.total - view.committed)) + " left" : "";
}

void add_metric(std::string& line, const RunView& view, const char* label, const char* metric) {
  if (auto value = latest(view, metric)) line += std::string("  ") + label + " " + number_text(*value);
}

std::string step_line(const RunView& view) {
  std::string line = "step " + step_text(view, view.committed);
  add_metric(line, view, "reward", "reward/mean");
  add_metric(line, view, "length", "response_length/mean");
  add_metric(line, view, "loss", "loss");
  add_metric(line, view, "grad", "grad_norm");
  add_metric(line, view, "kl", "kl");
  add_metric(line, view, "gap", "rollout_gap/max");
  line += "  " + formatted("%.2f", seconds_per_step(view)) + " s/step";
  std::string left = time_left(view);
  return left.empty() ? line : line + "  " + left;
}

std::string sample_text(const Sample& sample, bool unicode) {
  std::string text = printable(sample.prompt) + (unicode ? " → " : " -> ") + printable(sample.response);
  return sample.reward ? text + "  [" + number_text(*sample.reward) + "]" : text;
}

std::string evaluation_line(const RunView& view, const RunEvent& event, const Plan& plan) {
  std::string line = "eval " + step_text(view, event.step) + "  " + plan.nodes[event.node.index()].name;
  for (const Metric& metric : event.metrics) {
    std::size_t dot = metric.name.find('.');
    const std::string name = dot == std::string::npos ? metric.name : metric.name.substr(dot + 1);
    const bool interval = name.ends_with("/ci95");  // of the metric before it
    line += interval ? " +-" + number_text(metric.value) : "  " + name + " " + number_text(metric.value);
  }
  if (!event.samples.empty()) line += "  " + sample_text(event.samples.front(), false);
  return line;
}

std::string bar(double share, std::size_t width, bool unicode) {
  std::size_t filled = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += i < filled ? (unicode ? "━" : "=") : (unicode ? "─" : "-");
  return text;
}

std::string curve_text(const char* label, const Curve& curve, bool unicode) {
  if (curve.values.empty()) return "";
  return std::string(label) + " " + number_text(curve.values.back()) + " " + sparkline(curve.values, 12, unicode) +
         "   ";
}

std::string node_text(const NodeView& node, bool unicode) {
  std::string text = node.name;
  switch (node.state) {
    case NodeView::State::waiting: text += unicode ? " ·" : " ."; break;
    case NodeView::State::running:
      text += unicode ? " ▶" : " >";
      if (node.total > 0) text += std::to_string(node.done * 100 / node.total) + "%";
      break;
    case NodeView::State::done:
      text += node.milliseconds > 0 ? " " + formatted("%.0f", node.milliseconds) + "ms" : unicode ? " ✓" : " ok";
      break;
  }
  return node.failures > 0 ? text + (unicode ? " ↻" : " r") + std::to_string(node.failures) : text;
}

std::string heading(const RunView& view, std::size_t width) {
  std::string left = view.flow + "  " + view.run_dir;
  std::string right = view.doing.empty() ? "step " + step_text(view, view.committed) : view.doing;
  std::size_t gap = left.size() + right.size() < width ? width - left.size() - right.size() : 2;
  return left + std::string(gap, ' ') + right;
}

std::string outcome_line(const RunView& view, const Outcome& outcome, double seconds) {
  std::string steps = std::to_string(view.committed) + " of " + std::to_string(view.total) + " steps";
  if (outcome.code == ExitCode::yes) return "done    " + steps + " in " + clock_text(seconds);
  if (outcome.code == ExitCode::interrupted || outcome.code == ExitCode::terminated) return "paused  after " + steps;
  return "stopped after " + steps;
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (value == 0) return "0";
  double size = std::abs(value);
  if (size < 1e-3 || size >= 1e6) return formatted("%.2e", value);
  if (size < 1) return formatted("%.3f", value);
  return formatted(size < 100 ? "%.2f" : "%.0f", value);
}

std::string clock_text(double seconds) {
  long total = std::lround(std::max(0.0, seconds));
  char buffer[32];
  if (total >= 3600) {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld", total / 60, total % 60);
  }
  return buffer;
}

std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode) {
  static const char* const kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char kAscii[] = "_.-=+*%#";
  std::size_t count = std::min(width, values.size());
  auto first = values.end() - static_cast<std::ptrdiff_t>(count);
  double low = *std::min_element(first, values.end());
  double high = *std::max_element(first, values.end());
  std::string text;
  for (auto it = first; it != values.end(); ++it) {
    double share = high > low ? (*it - low) / (high - low) : 0.5;
    int height = std::isfinite(share) ? static_cast<int>(share * 7.0 + 0.5) : 0;
    text += unicode ? std::string(kBars[height]) : std::string(1, kAscii[height]);
  }
  return text;
}

std::string plain_line(const RunView& view, const RunEvent& event, const Plan& plan) {
  switch (event.type) {
    case RunEvent::Type::opened:
      return "run  " + view.run_dir + (view.first > 0 ? "  resumed after step " + std::to_string(view.first) : "");
    case RunEvent::Type::recovering: return view.doing;
    case RunEvent::Type::step_committed: return step_line(view);
    case RunEvent::Type::evaluated: return evaluation_line(view, event, plan);
    case RunEvent::Type::task_failed:
      return "failed " + plan.nodes[event.node.index()].name + ": " + printable(event.text);
    case RunEvent::Type::warning: return "warning: " + printable(event.text);
    case RunEvent::Type::task_started:
    case RunEvent::Type::task_progress:
    case RunEvent::Type::task_done:
    case RunEvent::Type::checkpointed:
    case RunEvent::Type::paused:
    case RunEvent::Type::finished: return "";
  }
  return "";
}

std::vector<std::string> live_lines(const RunView& view, const Terminal& terminal) {
  std::size_t width = static_cast<std::size_t>(std::max(20, terminal.width)) - 1;
  bool unicode = terminal.unicode;
  std::vector<std::string> lines = {heading(view, width)};
  double share = view.total > 0 ? static_cast<double>(view.committed) / static_cast<double>(view.total) : 0;
  std::string timing = "  " + formatted("%3.0f", share * 100) + "%  " + formatted("%.2f", seconds_per_step(view)) +
                       " s/step  " + time_left(view);
  lines.push_back(bar(share, width > timing.size() + 10 ? width - timing.size() : 10, unicode) + timing);
  lines.push_back(curve_text("reward", view.reward, unicode) + curve_text("accuracy", view.accuracy, unicode) +
                  curve_text("length", view.length, unicode));
  std::string nodes;
  for (const NodeView& node : view.nodes) {
    if (node.round == 0 || node.state == NodeView::State::running) nodes += node_text(node, unicode) + "  ";
  }
  lines.push_back(nodes);
  if (view.sample) lines.push_back("sample  " + sample_text(*view.sample, unicode));
  if (!view.warnings.empty()) {
    lines.push_back("warning " + printable(view.warnings.back()) +
                    (view.warnings.size() > 1 ? "  (" + std::to_string(view.warnings.size()) + " in all)" : ""));
  }
  for (std::string& line : lines) line = clipped(line, width, unicode);
  return lines;
}

std::vector<std::string> closing_lines(const RunView& view, const Plan& plan, const Outcome& outcome,
                                       const NextCommands& next, double seconds) {
  std::vector<std::string> lines = {outcome_line(view, outcome, seconds)};
  if (view.accuracy.values.size() > 1) {
    lines.push_back("        accuracy " + number_text(view.accuracy.values.front()) +
                    (view.first > 0 ? " after the resume, " : " at first, ") +
                    number_text(view.accuracy.values.back()) + " at step " + std::to_string(view.accuracy.step));
  }
  lines.push_back("run     " + view.run_dir);
  if (outcome.code != ExitCode::yes) {
    lines.push_back("next    " + next.program + " resume " + next.run);
    return lines;
  }
  lines.push_back("next    " + next.program + " show " + next.run);
  for (const PlanNode& node : plan.nodes) {
    if (node.op != "update") continue;
    lines.push_back("        " + next.program + " replay " + next.run + " --task " + node.name + ":" +
                    std::to_string(view.committed));
    lines.push_back("        " + next.program + " export " + next.run + " --model " +
                    plan.models[node.model.index()].name + " -o " + plan.models[node.model.index()].name + "-" +
                    std::to_string(view.committed));
    break;
  }
  return lines;
}

}  // namespace rlflow
