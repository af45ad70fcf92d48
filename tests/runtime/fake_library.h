// Models of a few integers and nodes that hash their inputs: everything the engine does, without torch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"

namespace rlflow::testing {

// Any kind of value: a list of whole numbers, written as eight bytes each.
struct FakePayload final : Payload {
  FakePayload(Kind kind, std::vector<std::int64_t> list) : numbers(std::move(list)), kind_(kind) {}
  std::vector<std::int64_t> numbers;

  Kind kind() const override { return kind_; }
  std::uint64_t memory_bytes() const override { return numbers.size() * 8; }
  void write(ByteSink& sink) const override { sink.write(std::as_bytes(std::span(numbers))); }

 private:
  Kind kind_;
};
const std::vector<std::int64_t>& numbers_of(const PayloadPtr& payload);

// Parameters and one moment. An update is a pure function of both and of the inputs.
class FakeModel final : public ModelInstance {
 public:
  explicit FakeModel(std::int64_t seed, bool trainable)
      : parameters_{seed, seed + 1, seed + 2}, trainable_(trainable) {}

  WeightsDigest weights_digest() const override;
  Digest state_digest() const override;
  std::vector<std::string> parts() const override;
  void save(std::string_view part, ByteSink& sink) const override;
  void load(std::string_view part, std::span<const std::byte> bytes) override;
  std::unique_ptr<ModelInstance> copy_for_replica(std::string_view dtype) const override;
  void export_folder(const std::filesystem::path& folder) const override;
  std::string first_difference(std::span<const std::byte> bytes) const override;

  void update(std::int64_t gradient);
  std::int64_t sum() const { return parameters_[0] * 3 + parameters_[1] * 5 + parameters_[2] * 7; }
  // A reader or a writer holds it; the counts prove that nobody writes beside another.
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;

 private:
  std::vector<std::int64_t> parameters_;
  std::int64_t moment_ = 0;
  bool trainable_ = false;
};

// Called before a node computes; may throw.
using BeforeRun = std::function<void(const PlanNode&, const TaskInputs&, const TaskContext&)>;

class FakeLibrary final : public NodeLibrary {
 public:
  std::unique_ptr<Node> make_node(const Plan& plan, NodeId node) override;
  std::unique_ptr<ModelInstance> make_model(const Plan& plan, ModelId model, const ModelOrigin& origin) override;
  PayloadPtr read_payload(Kind kind, std::span<const std::byte> bytes) override;
  PayloadPtr make_scalar(double value) override;
  void enter_group(const PlanGroup& group) override;
  std::map<std::string, std::string> environment() override { return environment_values; }
  std::vector<std::string> files_of(const Plan&) override { return files; }

  BeforeRun before;  // of every node
  // Optimizer steps (applied, planned) of the update of a step; {1, 1} where it says nothing.
  std::function<UpdateOutcome(Step)> outcome;
  // Before a rollout emits a group; not called for plans that do not stream. May wait or throw.
  std::function<void(const TaskContext&, std::int32_t group)> before_emit;
  std::int64_t drift = 0;  // added to every update: another machine
  std::vector<std::string> files;
  std::map<std::string, std::string> environment_values{{"library", "fake 1"}};

  // "node:step" of every execution, in the order they began; "node:step/group" of early work; "node:step<group" where
  // a whole task took early work over.
  std::vector<std::string> executions();
  void note(const std::string& execution);
  // Waits until it is among the executions; false: not within a minute.
  bool wait_for(const std::string& execution);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> executions_;  // guarded by mutex_
};

// Remembers every event.
class Recording final : public RunObserver {
 public:
  void on_event(const RunEvent& event) override {
    events.push_back(event);
    if (then) then(event);
  }
  std::size_t count(RunEvent::Type type) const {
    std::size_t n = 0;
    for (const RunEvent& event : events) n += event.type == type ? 1 : 0;
    return n;
  }
  std::vector<RunEvent> events;
  std::function<void(const RunEvent&)> then;
};

}  // namespace rlflow::testing
