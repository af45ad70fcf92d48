// The preview of a resume as text and JSON.
#include "cli/resume_preview.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/json_output.h"
#include "cli/recorded_program.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "runtime/engine/resume_preview.h"

namespace rlflow {
namespace {

using Fate = PlannedTask::Fate;

const char* fate_name(Fate fate) {
  switch (fate) {
    case Fate::reuse: return "reuse";
    case Fate::redo: return "redo";
    case Fate::drop: return "drop";
    case Fate::refuse: return "refuse";
  }
  return "?";
}

bool refused(const ResumePreview& preview) {
  for (const PlannedTask& task : preview.tasks) {
    if (task.fate == Fate::refuse) return true;
  }
  return false;
}

nlohmann::json preview_json(const ResumePreview& preview, const RecordedRun& run) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const PlannedTask& task : preview.tasks) {
    tasks.push_back({{"task", to_text(task.task)}, {"fate", fate_name(task.fate)}, {"why", task.why}});
  }
  nlohmann::json models = nlohmann::json::array();
  for (const PlannedModel& model : preview.models) {
    models.push_back({{"model", model.model}, {"checkpoint", model.from}, {"head", model.head}});
  }
  return {{"format", "rlflow.resume/1"},
          {"run", run.name},
          {"state", run_state_name(run.state)},
          {"committed", preview.committed},
          {"begun", preview.begun},
          {"total", preview.total},
          {"tasks", tasks},
          {"models", models}};
}

void print_text(const ResumePreview& preview, const RecordedRun& run) {
  std::cout << run.name << "  " << run_state_name(run.state) << "  steps 0 to " << preview.committed
            << " are committed and stand\n";
  for (const PlannedModel& model : preview.models) {
    std::cout << "model " << model.model << ": "
              << (model.from == 0 ? "its source files" : "the checkpoint of v" + std::to_string(model.from));
    if (model.head > model.from) {
      std::cout << ", then the recorded updates " << model.from + 1 << " to " << model.head << " again";
    }
    std::cout << "\n";
  }
  Table table{{}, {}, {}};
  for (const PlannedTask& task : preview.tasks) {
    table.rows.push_back({to_text(task.task), fate_name(task.fate), printable(task.why)});
  }
  if (!table.rows.empty()) std::cout << to_text(table);
  if (preview.begun < preview.total) {
    std::cout << "steps " << preview.begun + 1 << " to " << preview.total << " are not begun\n";
  } else if (preview.tasks.empty()) {
    std::cout << "nothing is left to do\n";
  }
}

}  // namespace

ExitCode show_preview(const std::filesystem::path& run_dir, const std::vector<std::string>& overrides, bool json) {
  RecordedRun run = RunReader(run_dir).run();
  ResumePreview preview = preview_resume(run_dir, recorded_plan(run, overrides, nullptr), prev_init_digest);
  if (json) {
    print_json(preview_json(preview, run));
  } else {
    print_text(preview, run);
  }
  return refused(preview) ? ExitCode::no : ExitCode::yes;
}

}  // namespace rlflow
