// The door between the program `rlflow` and librlflow_run.so (engine, nodes, libtorch): plain requests in,
// events and an outcome out. The library is opened by the verbs that execute; nothing else of it is exported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/contract/cluster.h"
#include "runtime/contract/ids.h"
#include "runtime/contract/metric.h"
#include "runtime/contract/plan.h"

namespace rlflow {

struct RunEvent {
  enum class Type {
    opened,          // run directory ready: `text` is its path, `step` the last committed step, `total` the last step
    recovering,      // redoing updates: `step` of `total`
    task_started,    // node, step, slot, attempt
    task_progress,   // node, done, total
    task_done,       // node, milliseconds, metrics, samples
    task_failed,     // node, attempt, text
    step_committed,  // step; metrics of all its nodes, now durable; milliseconds = wall time since the previous one
    evaluated,       // node, step = version evaluated, metrics, samples; durable
    checkpointed,    // step
    warning,         // text
    paused,          // by a signal, after the commit
    finished,        // step
  };
  Type type = Type::warning;
  NodeId node;
  Step step = 0;
  std::int32_t slot = 0;
  std::int32_t attempt = 1;
  std::int64_t done = 0;
  std::int64_t total = 0;
  double milliseconds = 0;
  std::string text;
  // "<name>" of one node for task_done; "<node>.<name>" for step_committed
  std::vector<Metric> metrics;
  std::vector<Sample> samples;
};

// Called from engine threads, one call at a time. Must return soon and not throw.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_event(const RunEvent& event) = 0;
};

// Exit codes of the engine document.
enum class ExitCode {
  yes = 0,
  no = 1,
  could_not_answer = 2,
  person_must_act = 3,
  store_damaged = 4,
  device_lost = 5,
  interrupted = 130,
  terminated = 143,
};

struct Outcome {
  ExitCode code = ExitCode::yes;
  std::string code_id;         // "R0101" … of a failure; empty on success
  std::string message;         // one line, lower case, for a person
  std::string help;            // the next action
  std::optional<NodeId> node;  // whose line in the program shows the failure
};

struct RunRequest {
  std::filesystem::path run_dir;  // run: must not exist; resume: must
  std::string name;
  std::string command;  // as the user typed it, for the record
  std::uint64_t seed = 1;
  bool resume = false;
};

enum class Verdict { identical, differs, cannot };

struct ReplayRequest {
  std::filesystem::path run_dir;
  std::string task = {};                            // "traj:42", "traj:42:3"
  std::optional<std::pair<Step, Step>> steps = {};  // in its place: every finished task of these steps, both included
  std::optional<std::int64_t> sample = {};          // of the task: this response is shown
};
struct ReplayedTask {
  std::string task;
  Verdict verdict = Verdict::cannot;
  std::string detail;
};
struct ReplayReport {
  Verdict verdict = Verdict::cannot;  // of a range of steps: differs if one differs, else cannot if one cannot
  std::string detail;                 // first differing element, or why not
  std::vector<std::string> redone;    // updates redone first, and outputs compared with their digests
  std::vector<ReplayedTask> tasks;    // of a range of steps
  std::optional<Sample> sample;
};

struct TaskExportRequest {
  std::filesystem::path run_dir;
  std::string task;
  std::filesystem::path folder;  // must not exist, or be empty
};

struct ExportRequest {
  std::filesystem::path run_dir;
  std::string model;
  std::optional<Version> version;  // the head if not set
  std::filesystem::path folder;    // must not exist, or be empty
  bool merged = false;             // of a model with adapters: base and adapters as one model, else a PEFT folder
};

struct ForkRequest {
  std::filesystem::path parent_dir;
  Step step = 0;                  // the last one that both share; committed by the parent
  std::filesystem::path run_dir;  // must not exist
  std::string name;
  std::string command;  // as the user typed it, for the record
};

// Whose weights: those of a Hugging Face folder, or a model of a run at a version.
struct ModelSource {
  std::filesystem::path folder;  // empty: of a run
  std::filesystem::path run_dir;
  std::string model;
  std::optional<Version> version;  // the head if not set
};
struct GeneratedTexts;
struct GenerateRequest {
  ModelSource source;
  std::string prompt;
  // Set: a conversation in the model's own template instead of `prompt`. Called for the next thing the user says until
  // it gives nothing; `answered` is then told what the model said, which stays in the conversation.
  std::function<std::optional<std::string>()> question;
  std::function<void(const GeneratedTexts& texts)> answered;
  std::string system;  // its system message; empty: what the template does without one
  std::int64_t samples = 1;
  std::optional<std::int64_t> max_new;  // 256, or what the model's positions leave, if not set
  std::int64_t min_new = 0;
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  std::vector<std::string> stop;
  std::uint64_t seed = 1;
  std::int32_t threads = 1;
};
struct GeneratedResponse {
  std::vector<std::int32_t> ids;
  std::vector<float> logprobs;  // one a token
  std::string text;             // without end token and stop text
  std::string finish_reason;    // end, stop, length; empty where it was interrupted
};
struct GeneratedTexts {
  std::vector<std::int32_t> prompt_ids;
  std::vector<GeneratedResponse> responses;
  Version version = 0;  // of a run's model
};
// More text of a response; a character is never divided, and what may become a stop text is held back.
using TextObserver = std::function<void(std::int64_t response, std::string_view text)>;

// Implemented in librlflow_run.so. `plan` for an existing run is the one compiled from the run's own copy
// of its program. Every call may throw nothing: failures are Outcomes.
class RunApi {
 public:
  virtual ~RunApi() = default;
  virtual Cluster cluster() = 0;
  virtual Outcome run(const Plan& plan, const RunRequest& request, RunObserver& observer) = 0;
  virtual Outcome replay(const Plan& plan, const ReplayRequest& request, ReplayReport& report) = 0;
  // Makes a run that begins where `parent_plan`'s is after a step, under `plan`, and leaves it paused.
  virtual Outcome fork(const Plan& parent_plan, const Plan& plan, const ForkRequest& request) = 0;
  virtual Outcome export_model(const Plan& plan, const ExportRequest& request) = 0;
  // Writes a folder in which that task can be replayed, here or elsewhere.
  virtual Outcome export_task(const Plan& plan, const TaskExportRequest& request) = 0;
  // Answers a prompt; `plan` is that of the run, null for a folder. `observer` is called as text is made, one call at a
  // time; may be empty. When a pause is asked for, what there is stands in `texts`, and the Outcome is `interrupted`.
  virtual Outcome generate(const Plan* plan, const GenerateRequest& request, const TextObserver& observer,
                           GeneratedTexts& texts) = 0;
  // Asks a run in progress to pause (commit, checkpoint, leave). Safe from any thread; from a signal handler too.
  virtual void request_pause() = 0;
};

inline constexpr int kRunApiVersion = 5;
inline constexpr const char* kRunApiSymbol = "rlflow_open_run_api";
// extern "C" RunApi* rlflow_open_run_api(int version): one object a process; null on another version.
using OpenRunApi = RunApi* (*)(int version);

}  // namespace rlflow
