// Failed tasks back to admitted.
#include "runtime/store/retry.h"

#include "runtime/store/record_queries.h"
#include "runtime/store/schema.h"
#include "runtime/store/writable_run.h"

namespace rlflow {
namespace {

struct FailedTask {
  std::int64_t row;
  TaskName name;
};

std::vector<FailedTask> failed_tasks(Database& database) {
  std::vector<FailedTask> tasks;
  Statement rows = database.prepare(
      "SELECT id,node,step,slot FROM tasks WHERE state='failed' OR (state='admitted' AND failures>0) ORDER BY id");
  while (rows.step()) {
    tasks.push_back({rows.int_at(0), {rows.text_at(1), rows.int_at(2), static_cast<std::int32_t>(rows.int_at(3))}});
  }
  return tasks;
}

void require_failed(Database& database, const TaskName& task, bool found) {
  if (found) return;
  auto row = find_task(database, task);
  std::string why = !row ? "is not recorded" : row->state == "admitted" ? "did not fail" : "is " + row->state;
  throw StoreError(ExitCode::could_not_answer, "R0402", "task `" + to_text(task) + "` " + why,
                   "`retry RUN` alone tries again whatever failed");
}

}  // namespace

std::vector<TaskName> reset_failed_tasks(FileLayer& files, const std::filesystem::path& run_dir,
                                         const std::optional<TaskName>& only) {
  WritableRun opened(files, run_dir);
  Database& database = opened.database();
  TaskStore tasks(database, database.number("SELECT epoch FROM run"));
  std::vector<TaskName> reset;
  Transaction transaction(database);
  tasks.require_epoch();
  for (const FailedTask& task : failed_tasks(database)) {
    if (only && task.name != *only) continue;
    database.run("UPDATE tasks SET state='admitted', failures=0, err=NULL WHERE id=?1", task.row);
    reset.push_back(task.name);
  }
  if (only) require_failed(database, *only, !reset.empty());
  if (recorded_run(database).state == RunState::failed) tasks.set_state("stopped", "");
  transaction.commit();
  return reset;
}

}  // namespace rlflow
