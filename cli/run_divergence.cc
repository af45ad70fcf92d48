// Two records, task by task.
#include "cli/run_divergence.h"

#include <algorithm>

#include "runtime/store/task_name.h"

namespace rlflow {
namespace {

bool same_outputs(const RecordedTask& left, const RecordedTask& right) {
  return std::equal(left.outputs.begin(), left.outputs.end(), right.outputs.begin(), right.outputs.end(),
                    [](const RecordedOutput& a, const RecordedOutput& b) { return a.digest == b.digest; });
}

std::string weights(const RunReader& reader, const std::string& model, Version version) {
  for (const RecordedVersion& recorded : reader.versions(model)) {
    if (recorded.version == version) return hex(recorded.weights);
  }
  return {};
}

std::string why_another_key(const RunReader& left, const RunReader& right, const RecordedTask& task) {
  auto before = left.history(task.node, task.step, task.slot), after = right.history(task.node, task.step, task.slot);
  for (const RecordedInput& input : before->inputs) {
    auto other = std::find_if(after->inputs.begin(), after->inputs.end(),
                              [&](const RecordedInput& candidate) { return candidate.port == input.port; });
    if (other == after->inputs.end()) return "one of them has no input " + std::to_string(input.port);
    if (other->digest != input.digest) return "input " + std::to_string(input.port) + ", " + input.source + ", differs";
  }
  if (before->inputs.size() != after->inputs.size()) return "one of them has more inputs";
  if (before->model != after->model || before->version != after->version) return "they read different versions";
  if (!before->model.empty() &&
      weights(left, before->model, before->version) != weights(right, after->model, after->version)) {
    return "the weights of " + before->model + " v" + std::to_string(before->version) + " differ";
  }
  if (left.run().seed != right.run().seed) return "the inputs are the same; the seeds differ";
  return "inputs and weights are the same; the settings differ (or the optimizer's state)";
}

std::optional<std::string> difference_of(const RunReader& left, const RunReader& right, const RecordedTask& task,
                                         const RecordedTask* other) {
  if (other == nullptr) return "only the first run has it";
  if (task.state != other->state) return "it is " + task.state + " in one and " + other->state + " in the other";
  bool same = same_outputs(task, *other);
  if (task.key == other->key) {
    if (same) return std::nullopt;
    return "the same key gave other outputs: the result depends on something outside, as a reward program or a machine";
  }
  return "its key differs: " + why_another_key(left, right, task) +
         (same ? "; its outputs are equal all the same" : "");
}

}  // namespace

std::optional<Divergence> first_divergence(const RunReader& left, const RunReader& right, Step last) {
  for (Step step = 0; step <= last; ++step) {
    std::vector<RecordedTask> tasks = left.tasks(step), others = right.tasks(step);
    auto name = [](const RecordedTask& task) { return to_text(TaskName{task.node, task.step, task.slot}); };
    auto named = [&](const std::vector<RecordedTask>& list, const RecordedTask& task) {
      auto found = std::find_if(list.begin(), list.end(), [&](const auto& t) { return name(t) == name(task); });
      return found == list.end() ? nullptr : &*found;
    };
    for (const RecordedTask& task : tasks) {
      if (auto why = difference_of(left, right, task, named(others, task))) return Divergence{name(task), *why};
    }
    for (const RecordedTask& task : others) {
      if (named(tasks, task) == nullptr) return Divergence{name(task), "only the second run has it"};
    }
  }
  return std::nullopt;
}

}  // namespace rlflow
