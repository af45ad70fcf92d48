// Nodes and models that compute almost nothing, so that the engine alone is tested.
#include "tests/runtime/fake_library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

namespace rlflow::testing {
namespace {

std::int64_t mix(std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(b);
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 32;
  return static_cast<std::int64_t>(x >> 1);
}

std::vector<std::int64_t> numbers_in(std::span<const std::byte> bytes) {
  if (bytes.size() % 8 != 0) throw std::runtime_error("not whole numbers: " + std::to_string(bytes.size()) + " bytes");
  std::vector<std::int64_t> numbers(bytes.size() / 8);
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// Everything a fake node may depend on, as one number.
std::int64_t digest_of(const PlanNode& node, const TaskInputs& inputs, const TaskContext& context) {
  std::int64_t value = mix(static_cast<std::int64_t>(context.run_seed), context.step);
  for (char c : node.name) value = mix(value, c);
  for (const PayloadPtr& payload : inputs.payloads) {
    value = mix(value, payload ? 1 : 0);
    if (!payload) continue;
    for (std::int64_t number : numbers_of(payload)) value = mix(value, number);
  }
  if (inputs.model) value = mix(value, static_cast<FakeModel*>(inputs.model)->sum());
  return mix(value, context.version);
}

class FakeNode final : public Node {
 public:
  FakeNode(FakeLibrary& library, const PlanNode& node) : library_(library), node_(node) {}

  TaskResult run(const TaskInputs& inputs, const TaskContext& context) override {
    EXPECT_FALSE(running_.exchange(true)) << node_.name << " runs twice at once";
    struct Leave {
      std::atomic<bool>& running;
      ~Leave() { running = false; }
    } leave{running_};
    library_.note(name(context) + (is_early(inputs) ? "/" + std::to_string(numbers_of(inputs.payloads[0])[0]) : ""));
    Hold hold(static_cast<FakeModel*>(inputs.model), node_.op == "update");
    if (library_.before) library_.before(node_, inputs, context);
    TaskResult result = node_.op == "take"                   ? take(inputs)
                        : streams() && node_.op == "rollout" ? emit(inputs, context)
                        : streams()                          ? by_group(inputs, context)
                                                             : compute(inputs, context);
    result.metrics.push_back({"sum", static_cast<double>(numbers_of(result.outputs[0])[0] % 1000)});
    return result;
  }
  bool emits_groups() const override { return streams() && node_.op == "rollout"; }
  bool works_by_group() const override { return streams() && node_.op != "rollout"; }

 private:
  static constexpr std::size_t kGroups = 3;
  static constexpr std::size_t kGroupSize = 3;  // its number and two values

  bool streams() const { return has(node_.settings, "emit"); }
  bool is_early(const TaskInputs& inputs) const {
    return works_by_group() && numbers_of(inputs.payloads[0]).size() == kGroupSize;
  }
  std::string name(const TaskContext& context) const { return node_.name + ":" + std::to_string(context.step); }

  // Proves that an update is alone with its model.
  struct Hold {
    Hold(FakeModel* held, bool writes) : model(held), writer(writes) {
      if (!model) return;
      ++(writer ? model->writers : model->readers);
      check();
    }
    ~Hold() {
      if (!model) return;
      check();
      --(writer ? model->writers : model->readers);
    }
    void check() const {
      EXPECT_LE(model->writers, 1);
      if (writer) {
        EXPECT_EQ(model->readers, 0);
      } else {
        EXPECT_EQ(model->writers, 0);
      }
    }
    FakeModel* model;
    bool writer;
  };

  TaskResult take(const TaskInputs& inputs) {
    std::int64_t offset = inputs.carried ? numbers_of(inputs.carried)[0] : 0;
    TaskResult result;
    result.outputs.push_back(
        std::make_shared<FakePayload>(Kind::prompts, std::vector<std::int64_t>{offset, offset + 1, offset + 2}));
    result.outputs.push_back(std::make_shared<FakePayload>(Kind::cursor, std::vector<std::int64_t>{offset + 3}));
    return result;
  }

  TaskResult compute(const TaskInputs& inputs, const TaskContext& context) {
    std::int64_t value = digest_of(node_, inputs, context);
    TaskResult result;
    if (node_.op == "update") {
      result.update = library_.outcome ? library_.outcome(context.step) : UpdateOutcome{1, 1};
      if (result.update->applied > 0) static_cast<FakeModel*>(inputs.model)->update(value + library_.drift);
    }
    for (const PlanOutput& output : node_.outputs) {
      result.outputs.push_back(
          std::make_shared<FakePayload>(output.type.kind, std::vector<std::int64_t>{value, value / 3}));
      value = mix(value, 17);
    }
    result.decisions["cut"] = std::to_string(context.step % 3);
    return result;
  }

  TaskResult emit(const TaskInputs& inputs, const TaskContext& context) {
    std::int64_t value = digest_of(node_, inputs, context);
    std::vector<std::int64_t> whole;
    for (std::int64_t group = 0; group < static_cast<std::int64_t>(kGroups); ++group) {
      std::vector<std::int64_t> numbers{group, mix(value, group), value / 3};
      whole.insert(whole.end(), numbers.begin(), numbers.end());
      if (!context.emit) continue;
      if (library_.before_emit) library_.before_emit(context, static_cast<std::int32_t>(group));
      context.emit(static_cast<std::int32_t>(group), {std::make_shared<FakePayload>(Kind::traj, std::move(numbers))});
    }
    TaskResult result;
    result.outputs.push_back(std::make_shared<FakePayload>(Kind::traj, std::move(whole)));
    return result;
  }

  TaskResult by_group(const TaskInputs& inputs, const TaskContext& context) {
    const std::vector<std::int64_t>& in = numbers_of(inputs.payloads[0]);
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < in.size(); i += kGroupSize) {
      auto group = static_cast<std::size_t>(in[i]);
      if (group < inputs.early.size() && inputs.early[group]) {
        library_.note(name(context) + "<" + std::to_string(group));
        const std::vector<std::int64_t>& taken = numbers_of(inputs.early[group]->outputs[0]);
        out.insert(out.end(), taken.begin(), taken.end());
      } else {
        out.insert(out.end(), {in[i], mix(in[i + 1], static_cast<std::int64_t>(node_.name.size())), in[i + 2] / 2});
      }
    }
    TaskResult result;
    result.outputs.push_back(std::make_shared<FakePayload>(node_.outputs[0].type.kind, std::move(out)));
    return result;
  }

  FakeLibrary& library_;
  const PlanNode& node_;
  std::atomic<bool> running_ = false;
};

}  // namespace

const std::vector<std::int64_t>& numbers_of(const PayloadPtr& payload) {
  return static_cast<const FakePayload&>(*payload).numbers;
}

WeightsDigest FakeModel::weights_digest() const {
  WeightsDigest digest;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto index = static_cast<std::int64_t>(i);
    digest += {static_cast<std::uint64_t>(mix(parameters_[i], index)),
               static_cast<std::uint64_t>(mix(parameters_[i], index + 100))};
  }
  return digest;
}

Digest FakeModel::state_digest() const {
  Hasher hasher;
  for (std::int64_t parameter : parameters_) hasher.field(parameter);
  if (trainable_) hasher.field(moment_);
  return hasher.finish();
}

std::vector<std::string> FakeModel::parts() const {
  if (!trainable_) return {"parameters"};
  return {"parameters", "optimizer"};
}

void FakeModel::save(std::string_view part, ByteSink& sink) const {
  if (part == "parameters") return sink.write(std::as_bytes(std::span(parameters_)));
  sink.write(std::as_bytes(std::span(&moment_, 1)));
}

void FakeModel::load(std::string_view part, std::span<const std::byte> bytes) {
  std::vector<std::int64_t> numbers = numbers_in(bytes);
  if (part == "parameters") {
    parameters_ = numbers;
  } else {
    moment_ = numbers.at(0);
  }
}

std::unique_ptr<ModelInstance> FakeModel::copy_for_replica(std::string_view) const {
  auto copy = std::make_unique<FakeModel>(0, false);
  copy->parameters_ = parameters_;
  return copy;
}

void FakeModel::export_folder(const std::filesystem::path& folder) const {
  std::ofstream(folder / "parameters.txt") << parameters_[0] << " " << parameters_[1] << " " << parameters_[2] << "\n";
}

std::string FakeModel::first_difference(std::span<const std::byte> bytes) const {
  std::vector<std::int64_t> saved = numbers_in(bytes);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i] != parameters_.at(i)) return "parameter." + std::to_string(i);
  }
  return {};
}

void FakeModel::update(std::int64_t gradient) {
  moment_ = mix(moment_, gradient) % 1000003;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i] = mix(parameters_[i] + moment_, static_cast<std::int64_t>(i)) % 1000000007;
  }
}

std::unique_ptr<Node> FakeLibrary::make_node(const Plan& plan, NodeId node) {
  return std::make_unique<FakeNode>(*this, plan.nodes[node.index()]);
}

std::unique_ptr<ModelInstance> FakeLibrary::make_model(const Plan& plan, ModelId model, const ModelOrigin&) {
  const PlanModel& plan_model = plan.models[model.index()];
  return std::make_unique<FakeModel>(static_cast<std::int64_t>(plan_model.init_seed), plan_model.trainable);
}

PayloadPtr FakeLibrary::read_payload(Kind kind, std::span<const std::byte> bytes) {
  return std::make_shared<FakePayload>(kind, numbers_in(bytes));
}

PayloadPtr FakeLibrary::make_scalar(double value) {
  return std::make_shared<FakePayload>(Kind::scalar,
                                       std::vector<std::int64_t>{static_cast<std::int64_t>(value * 1000)});
}

void FakeLibrary::enter_group(const PlanGroup&) {}

std::vector<std::string> FakeLibrary::executions() {
  std::lock_guard lock(mutex_);
  return executions_;
}

void FakeLibrary::note(const std::string& execution) {
  {
    std::lock_guard lock(mutex_);
    executions_.push_back(execution);
  }
  changed_.notify_all();
}

bool FakeLibrary::wait_for(const std::string& execution) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] {
    return std::find(executions_.begin(), executions_.end(), execution) != executions_.end();
  });
}

}  // namespace rlflow::testing
