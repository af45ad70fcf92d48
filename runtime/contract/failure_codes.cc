// The table of failures: R00 the program itself, R01 tasks, R02 the store, R03 updates and versions, R04 replay,
// R05 export.
#include "runtime/contract/failure_codes.h"

namespace rlflow {
namespace {

constexpr FailureInfo kFailures[] = {
    {"R0001", "the run library cannot be opened",
     "The verbs that execute (run, resume, replay, export) open librlflow_run.so, which lies beside the program. Build "
     "it with `./dev build`; keep both files of one build together."},
    {"R0003", "these options do not go together", "The message says which, and why."},
    {"R0101", "a task failed",
     "A node threw, its retries are used up, and its `on_failure` is `pause`. Everything committed is safe. Mend the "
     "cause that the message names, then `rlflow resume RUN`: the task runs again from the same inputs."},
    {"R0102", "a task missed its deadline",
     "The node ran longer than its `timeout`. Give it more time (`-s NODE.timeout=…` on resume) or less work."},
    {"R0103", "a result is not a number, or a numerical gate is broken",
     "Log-probabilities, values or the gap between sampling and training are not finite or out of bounds. Running "
     "again "
     "would give the same bits, so it is never retried. The inputs are kept: `rlflow replay RUN --task ID` shows the "
     "task again."},
    {"R0104", "three updates in a row were skipped",
     "An optimizer step with a non-finite loss or gradient norm is skipped and counted. Three versions without one "
     "applied step mean that training has gone wrong: look at the learning rate and the rewards."},
    {"R0105", "an update could not be done again",
     "Recovery runs the recorded updates after a checkpoint again. One of them failed, though it came to its end when "
     "it "
     "was recorded: memory, a device or a library of this machine stands in its way. Mend the cause that the message "
     "names, then `rlflow resume RUN`; the record is whole."},
    {"R0201", "another process holds this run",
     "One process at a time may write a run. The message names the one that does. Readers (`show`, `runs`) may look at "
     "any time."},
    {"R0202", "there is something at this place already", "A run makes its own folder. Choose another `--name`."},
    {"R0203", "there is no such run", "`rlflow runs` lists what there is; `--runs-dir` names another place."},
    {"R0204", "the run was written by another version of the program",
     "Of a newer one: use it, or one that is newer still. Of an older one: `rlflow resume RUN` brings the store up to "
     "date, "
     "after a backup beside it."},
    {"R0205", "the store is damaged",
     "A row, a page or the database itself is not what was written. Nothing is guessed or begun afresh. Keep the "
     "folder "
     "as it is and restore it from a copy."},
    {"R0206", "something could not be written",
     "A full disk, a failing device or a missing right. The store is sound: what was committed stays, the rest was "
     "never recorded. Free space or mend the cause, then resume."},
    {"R0207", "an artifact is not what was stored",
     "Every file of a run is named by its SHA-256 and checked when it is read. This one is missing or differs."},
    {"R0208", "a source file changed under the run",
     "The files of models and data are hashed when a run begins. Put the old file back, or start a new run."},
    {"R0209", "a recovered update gives other weights",
     "Recovery runs the recorded updates after a checkpoint again and compares each digest. A difference means other "
     "hardware, another libtorch, or damage; the message names the first tensor that differs."},
    {"R0210", "the same task gave another output",
     "A task's key covers everything its result depends on. The same key with another output means that something "
     "outside the key reached the result. The stored output is kept."},
    {"R0211", "this run may not be written here", "The folder belongs to another user or is read-only."},
    {"R0212", "the program is not the one that the run began with",
     "`resume` goes on with the run's own program. For another one start a new run."},
    {"R0213", "the run failed for good",
     "A node with `on_failure = fail` failed. Such a run is not resumable; its record can be shown and replayed."},
    {"R0214", "the recorded program cannot be used",
     "The run's own copy of its program does not compile with this version of rlflow."},
    {"R0215", "this change would make it another run",
     "On resume only what does not change the meaning of a program may be overridden: stop, retries, timeouts, "
     "workers, "
     "keep. For the rest `rlflow fork RUN -s …` makes a run of its own that begins where this one is."},
    {"R0216", "what this needs was thrown away by `gc`",
     "`gc RUN --before K` unlinks outputs and the inputs of updates that no resume needs. Their rows stay, so that the "
     "message can name what is missing. Later steps can still be replayed."},
    {"R0217", "a changed program of a run does not compile",
     "What `-s` or `--with` gave makes the run's program wrong. The messages of the compiler follow; the run itself is "
     "as it was."},
    {"R0218", "this run cannot be forked so",
     "A fork begins after a step that its parent has committed, and trains the same models. `rlflow show RUN` tells "
     "how "
     "far the parent is."},
    {"R0219", "a version of a fork that only its parent can give",
     "A fork may have another program than its parent, so it never redoes the parent's updates: of the versions before "
     "its own first step it has those that this step reads. Ask the parent for the others; `rlflow show` names it."},
    {"R0220", "this is no run but a bundle of one task",
     "`rlflow export RUN --task ID` makes a folder that holds what it takes to run that task again, and nothing else: "
     "it "
     "can be shown, checked and replayed."},
    {"R0301", "the engine cannot run this plan", "The message names the node and what it asks for."},
    {"R0302", "a copy of the weights is not equal to its model",
     "Both ends of every sync are hashed. Nothing was generated with the wrong weights. Report this as a fault."},
    {"R0303", "a model or a file could not be loaded", "The message names file, tensor and offset."},
    {"R0401", "the task differs when it is run again",
     "The same inputs gave other bits: another machine or library, or a node that depends on something it should not. "
     "The message says where the first difference is."},
    {"R0402", "the task cannot be replayed", "It is unknown, not finished, or something it needs was collected."},
    {"R0501", "the model cannot be exported",
     "The message says why: an unknown model, a version that is not there, a folder in use."},
};

}  // namespace

std::span<const FailureInfo> failure_codes() { return kFailures; }

const FailureInfo* find_failure(std::string_view code) {
  for (const FailureInfo& failure : kFailures) {
    if (failure.code == code) return &failure;
  }
  return nullptr;
}

}  // namespace rlflow
