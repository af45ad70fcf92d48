// The three forms in which a run is watched. Writes to a closed stream fail silently: the run goes on.
#include "cli/console/console.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/console/lines.h"
#include "cli/table.h"

namespace rlflow {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRedraw = std::chrono::milliseconds(80);

void put(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    ssize_t count = write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (count <= 0) return;
    written += static_cast<std::size_t>(count);
  }
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class PlainConsole final : public Console {
 public:
  PlainConsole(const Plan& plan, const Session& session, std::string reference)
      : plan_(plan), session_(session), reference_(std::move(reference)), view_(new_view(plan)) {}

  void on_event(const RunEvent& event) override {
    apply(view_, event);
    std::string line = plain_line(view_, event, plan_);
    if (!line.empty() && !session_.quiet) put(line + "\n");
  }

  void finish(const Outcome& outcome) override {
    if (view_.run_dir.empty()) return;
    for (const std::string& line :
         closing_lines(view_, plan_, outcome, {session_.invoked_as, reference_}, seconds_since(start_))) {
      put(line + "\n");
    }
  }

 private:
  const Plan& plan_;
  const Session& session_;
  std::string reference_;
  RunView view_;
  Clock::time_point start_ = Clock::now();
};

// Draws its block over itself. The width is asked anew each time, so a resize needs no signal; a terminal that
// became narrower has wrapped the old lines.
class LiveConsole final : public Console {
 public:
  LiveConsole(const Plan& plan, const Session& session, std::string reference)
      : plan_(plan), session_(session), reference_(std::move(reference)), view_(new_view(plan)) {}

  void on_event(const RunEvent& event) override {
    apply(view_, event);
    bool said = event.type == RunEvent::Type::warning || event.type == RunEvent::Type::task_failed;
    bool committed = event.type == RunEvent::Type::step_committed || event.type == RunEvent::Type::evaluated;
    if (said || committed || Clock::now() - drawn_ > kRedraw) draw();
  }

  void finish(const Outcome& outcome) override {
    draw();
    for (const std::string& warning : view_.warnings) put("warning: " + printable(warning) + "\n");
    if (view_.run_dir.empty()) return;
    for (const std::string& line :
         closing_lines(view_, plan_, outcome, {session_.invoked_as, reference_}, seconds_since(start_))) {
      put(line + "\n");
    }
  }

 private:
  void draw() {
    Terminal terminal = terminal_of(STDOUT_FILENO, session_);
    std::string text = "\r";
    if (std::size_t rows = rows_at(terminal.width); rows > 0) text += "\x1b[" + std::to_string(rows) + "A";
    text += "\x1b[J";
    std::vector<std::string> lines = live_lines(view_, terminal);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      bool bold = terminal.colour && i == 0;
      text += (bold ? "\x1b[1m" : "") + lines[i] + (bold ? "\x1b[0m" : "") + "\n";
    }
    put(text);
    drawn_lengths_.clear();
    for (const std::string& line : lines) drawn_lengths_.push_back(code_points(line));
    drawn_ = Clock::now();
  }

  // Rows that the drawn lines take now.
  std::size_t rows_at(int width) const {
    std::size_t columns = static_cast<std::size_t>(std::max(1, width));
    std::size_t rows = 0;
    for (std::size_t length : drawn_lengths_) rows += std::max<std::size_t>(1, (length + columns - 1) / columns);
    return rows;
  }

  const Plan& plan_;
  const Session& session_;
  std::string reference_;
  RunView view_;
  std::vector<std::size_t> drawn_lengths_;
  Clock::time_point drawn_{};
  Clock::time_point start_ = Clock::now();
};

// {"format": "rlflow.run/1", "event": "step" | "eval" | "opened" | "warning" | "failed" | "end", …}, one a line.
class JsonConsole final : public Console {
 public:
  explicit JsonConsole(const Plan& plan) : plan_(plan) {}

  void on_event(const RunEvent& event) override {
    const char* name = event_name(event.type);
    if (name == nullptr) return;
    nlohmann::json line = {{"format", "rlflow.run/1"}, {"event", name}, {"step", event.step}};
    if (event.node.valid()) line["node"] = plan_.nodes[event.node.index()].name;
    if (!event.text.empty()) line[event.type == RunEvent::Type::opened ? "run" : "text"] = event.text;
    if (event.milliseconds > 0) line["milliseconds"] = event.milliseconds;
    for (const Metric& metric : event.metrics) {
      if (std::isfinite(metric.value)) {
        line["metrics"][metric.name] = metric.value;
      } else {
        line["metrics"][metric.name] = number_text(metric.value);
      }
    }
    put(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

  void finish(const Outcome& outcome) override {
    nlohmann::json line = {{"format", "rlflow.run/1"}, {"event", "end"}, {"exit_code", static_cast<int>(outcome.code)}};
    if (!outcome.message.empty()) line["message"] = outcome.message;
    if (!outcome.code_id.empty()) line["code"] = outcome.code_id;
    put(line.dump() + "\n");
  }

 private:
  static const char* event_name(RunEvent::Type type) {
    switch (type) {
      case RunEvent::Type::opened: return "opened";
      case RunEvent::Type::recovering: return "recovering";
      case RunEvent::Type::step_committed: return "step";
      case RunEvent::Type::evaluated: return "eval";
      case RunEvent::Type::task_failed: return "failed";
      case RunEvent::Type::checkpointed: return "checkpoint";
      case RunEvent::Type::warning: return "warning";
      case RunEvent::Type::paused: return "paused";
      case RunEvent::Type::finished: return "finished";
      case RunEvent::Type::task_started:
      case RunEvent::Type::task_progress:
      case RunEvent::Type::task_done: return nullptr;
    }
    return nullptr;
  }

  const Plan& plan_;
};

}  // namespace

ConsoleForm console_form(bool plain, bool json, const Session& session) {
  if (json) return ConsoleForm::json;
  return plain || session.quiet || !terminal_of(STDOUT_FILENO, session).is_terminal ? ConsoleForm::plain
                                                                                    : ConsoleForm::live;
}

std::unique_ptr<Console> make_console(ConsoleForm form, const Plan& plan, const Session& session,
                                      const std::string& reference) {
  switch (form) {
    case ConsoleForm::plain: return std::make_unique<PlainConsole>(plan, session, reference);
    case ConsoleForm::live: return std::make_unique<LiveConsole>(plan, session, reference);
    case ConsoleForm::json: return std::make_unique<JsonConsole>(plan);
  }
  return nullptr;
}

}  // namespace rlflow
