// Attempts, inputs and readers of one task.
#include "runtime/store/task_history.h"

#include "runtime/store/record_queries.h"

namespace rlflow {
namespace {

void add_attempts(Database& database, std::int64_t row, TaskHistory& history) {
  Statement rows = database.query("SELECT n,epoch,ended,ms,detail FROM attempts WHERE task=?1 ORDER BY n", row);
  while (rows.step()) {
    history.attempts.push_back(
        {static_cast<std::int32_t>(rows.int_at(0)), rows.int_at(1), rows.text_at(2), rows.real_at(3), rows.text_at(4)});
  }
}

void add_inputs(Database& database, std::int64_t row, TaskHistory& history) {
  Statement rows = database.query(
      "SELECT dst_port,node,step,slot,src_port,kind,a.digest,a.state!='live' FROM edges JOIN tasks ON id=src "
      "JOIN outputs AS o ON o.task=src AND port=src_port JOIN artifacts AS a ON a.digest=o.digest "
      "WHERE dst=?1 ORDER BY dst_port",
      row);
  while (rows.step()) {
    TaskName source{rows.text_at(1), rows.int_at(2), static_cast<std::int32_t>(rows.int_at(3))};
    history.inputs.push_back({static_cast<std::int32_t>(rows.int_at(0)), to_text(source),
                              static_cast<std::int32_t>(rows.int_at(4)), rows.text_at(5), rows.digest_at(6),
                              rows.int_at(7) != 0});
  }
}

void add_readers(Database& database, std::int64_t row, TaskHistory& history) {
  Statement rows = database.query(
      "SELECT DISTINCT node,step,slot FROM edges JOIN tasks ON id=dst WHERE src=?1 ORDER BY step,id", row);
  while (rows.step()) {
    history.read_by.push_back(to_text({rows.text_at(0), rows.int_at(1), static_cast<std::int32_t>(rows.int_at(2))}));
  }
}

}  // namespace

TaskHistory history_of(Database& database, RecordedTask task) {
  TaskHistory history;
  auto found = find_task(database, {task.node, task.step, task.slot});
  history.task = std::move(task);
  if (!found) return history;
  add_attempts(database, found->row, history);
  add_inputs(database, found->row, history);
  add_readers(database, found->row, history);
  if (auto read = read_of(database, found->row)) {
    history.model = read->model;
    history.version = read->version;
  }
  history.decisions = decisions_of(database, found->row);
  return history;
}

}  // namespace rlflow
