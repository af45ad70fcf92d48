// What led to a task, and what came of it?
#pragma once

#include "runtime/store/database.h"
#include "runtime/store/run_reader.h"

namespace rlflow {

TaskHistory history_of(Database& database, RecordedTask task);

}  // namespace rlflow
