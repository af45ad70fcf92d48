// The serial part of early work on prompt groups: what starts when, and what becomes of it.
#include "runtime/engine/run_loop.h"

namespace rlflow {

void RunLoop::launch(TaskId task, std::vector<Launch>& launches) {
  {
    std::lock_guard lock(mutex_);
    launched_.at(task)->inputs.early = stream_.take_early(task);
  }
  launches.push_back({task, plan_node(task).group});
}

void RunLoop::start_held(std::vector<Launch>& launches) {
  std::vector<TaskId> still;
  for (TaskId task : held_) {
    if (stream_.begin_whole(task)) {
      launch(task, launches);
    } else {
      still.push_back(task);
    }
  }
  held_ = std::move(still);
}

void RunLoop::drop_held() {
  for (TaskId task : held_) {
    schedule_.give_up(task);
    take_launched(task);
  }
  held_.clear();
}

void RunLoop::start_early(std::vector<Launch>& launches) {
  for (TaskId task : stream_.take_ready()) {
    auto launched = std::make_unique<Launched>();
    launched->inputs.payloads = stream_.inputs_of(task);
    launched->context.step = task.step;
    launched->context.run_seed = parts_.seed;
    {
      std::lock_guard lock(mutex_);
      launched_[task] = std::move(launched);
    }
    launches.push_back({task, {}});
  }
}

// Failed early work is told and left to the whole task, which has retries.
void RunLoop::handle_early_end(TaskId task) {
  std::unique_ptr<Launched> launched = take_launched(task);
  if (launched->report.failure) {
    if (launched->report.failure->kind != FailureKind::stopped) {
      std::string text = "`" + to_text(name_of(task)) + "` could not do group " + std::to_string(task.group) +
                         " beforehand: " + launched->report.failure->message;
      parts_.events.warn(text);
      parts_.recorder.event("warning", name_of(task), text);
    }
    return stream_.ended(task, nullptr);
  }
  stream_.ended(task, std::make_shared<const TaskResult>(std::move(*launched->report.result)));
}

}  // namespace rlflow
