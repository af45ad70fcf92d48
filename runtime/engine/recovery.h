// Where does a resumed run go on? Finished tasks of unfinished steps, last values, and the models at their heads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/engine/event_bus.h"
#include "runtime/engine/model_restore.h"
#include "runtime/engine/model_states.h"
#include "runtime/engine/run_loop.h"
#include "runtime/store/task_store.h"

namespace rlflow {

struct Recovered {
  Step committed = -1;
  ValueStore values;
  std::map<TaskId, StoredTask> stored;
};

// Reads what steps after the last committed one have finished. A task whose recorded output is damaged is run again
// where it can be, with a warning that names the file; StoreError where it cannot, or where a finished task has
// another key than the program gives it now. Writes (cancelled tasks) in a transaction of its own.
Recovered recover_tasks(const RecordedParts& parts, TaskStore& tasks, EventBus& events);

// Brings every trained model to its head, publishing the copies that unfinished tasks read on the way.
void recover_models(const RecordedParts& parts, const Recovered& recovered, ModelStates& models, Executor& executor,
                    EventBus& events);

}  // namespace rlflow
