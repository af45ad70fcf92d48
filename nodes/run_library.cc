// How the engine gets nodes, models and payloads made, and what it records of this build.
#include "nodes/run_library.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "nodes/batches.h"
#include "nodes/catalog.h"
#include "nodes/common_rows.h"
#include "nodes/format/tokenizer.h"
#include "nodes/format/weight_files.h"
#include "nodes/metric_inputs.h"
#include "nodes/model/backend.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/weights_digest.h"
#include "nodes/plan_access.h"
#include "nodes/reward/examples.h"
#include "nodes/reward/exec_reward.h"
#include "nodes/sample_at.h"
#include "nodes/signatures/catalog.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

void require_executable(const PlanModel& model, const PlanGroup& group) {
  const std::string place = "model `" + model.name + "`: ";
  if (has(model.settings, "offload") && text_at(model.settings, "offload") == "cpu" &&
      group.device == DeviceKind::gpu) {
    throw std::runtime_error(place + "this build keeps parameters on the GPU; leave `offload = cpu` out");
  }
  if (model.head == Head::reward) throw std::runtime_error(place + "this build has no reward heads yet");
}

void enter_gpu_of(const PlanGroup& group) {
  const std::string place = "group `" + group.name + "`: ";
  if (group.last - group.first != 1) {
    throw std::runtime_error(place + "this build computes on one GPU a group; use `" + group.name + " = gpu[" +
                             std::to_string(group.first) + ".." + std::to_string(group.first + 1) + "]`");
  }
  try {
    enter_gpu(group.first);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(place + error.what());
  }
}

class RunLibrary final : public NodeLibrary {
 public:
  RunLibrary() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false); }

  void prepare(const Plan& plan, const std::filesystem::path& run_dir) override {
    run_dir_ = run_dir;
    for (const PlanGroup& group : plan.groups) {
      if (group.device == DeviceKind::gpu && !gpu_) {
        enter_gpu_of(group);
        gpu_ = group.first;
      }
    }
    const RewardPlace place = reward_place(plan.root, run_dir_);
    for (const PlanReward& reward : plan.rewards) {
      make_reward(reward, place);  // a pattern that is none is told now
      check_examples(reward, place);
      for (const auto& [file, digest] : program_files(reward, place)) {
        programs_["reward " + reward.name + ", " + file] = hex(digest);
      }
    }
  }

  std::unique_ptr<Node> make_node(const Plan& plan, NodeId node) override {
    const std::string& signature = plan.nodes[node.index()].signature;
    for (const NodeKind& kind : node_kinds()) {
      if (kind.signature != signature) continue;
      const auto* make = std::get_if<NodeFactory>(&kind.make);
      std::unique_ptr<Node> made =
          make != nullptr ? (*make)(plan, node)
                          : std::get<JudgingNodeFactory>(kind.make)(plan, node, reward_place(plan.root, run_dir_));
      if (!kind.several_batches) made = with_common_rows(std::move(made));
      return with_metric_inputs(std::move(made), plan, node);
    }
    throw std::runtime_error("node `" + plan.nodes[node.index()].name + "`: this build has no code for " + signature);
  }

  std::unique_ptr<ModelInstance> make_model(const Plan& plan, ModelId id, const ModelOrigin& origin) override {
    const PlanModel& model = plan.models[id.index()];
    if (const auto* adapted = dynamic_cast<const LanguageModel*>(origin.adapted)) return adapted->base();
    const PlanGroup& group = plan.groups[model.group.index()];
    require_executable(model, group);
    const ModelPlace place{group.device, group.first, group.threads, model.dtype, model.trainable};
    const std::filesystem::path folder = model_folder(plan, id);
    check_vocabulary(read_tokenizer(folder).vocabulary_size(), read_model_config(folder).vocab_size, folder);
    ModelForm form(model.head, model.dtype);
    if (const CallValue* lora = lora_of(model)) {
      form.lora = lora_settings(*lora, h64(RandomPurpose::adapters, {origin.run_seed, tensor_id(model.name)}));
    }
    std::unique_ptr<LanguageModel> instance =
        model.random_init ? draw_model(folder, model.init_seed, place, form) : load_model(folder, place, form);
    if (model.trainable) instance->attach_optimizer(adamw_settings(*model.optim));
    return instance;
  }

  std::unique_ptr<ModelInstance> make_replica(const Plan& plan, ReplicaId id, const ModelInstance& instance) override {
    const PlanReplica& replica = plan.replicas[id.index()];
    const PlanModel& model = plan.models[replica.model.index()];
    const PlanGroup &from = plan.groups[model.group.index()], &to = plan.groups[replica.group.index()];
    const auto& trained = dynamic_cast<const LanguageModel&>(instance);
    if (from.device == to.device && (to.device == DeviceKind::cpu || from.first == to.first)) {
      return trained.copy_for_replica(dtype_name(replica.dtype));
    }
    ModelForm form(model.head, replica.dtype);
    if (lora_of(model) != nullptr) form.lora = LoraSettings{};
    const ModelPlace place{to.device, to.first, to.threads, replica.dtype, false};
    return copy_to(trained, model_folder(plan, replica.model), place, form);
  }

  PayloadPtr read_payload(Kind kind, std::span<const std::byte> bytes) override { return read_batch(kind, bytes); }
  std::optional<Sample> sample_at(const Plan& plan, NodeId node, const std::vector<PayloadPtr>& inputs,
                                  const std::vector<PayloadPtr>& outputs, std::int64_t index) override {
    return rlflow::sample_at(plan, node, inputs, outputs, index);
  }
  PayloadPtr make_scalar(double value) override { return std::make_shared<Scalar>(value); }

  void enter_group(const PlanGroup& group) override {
    at::set_num_threads(group.threads);
    if (group.device == DeviceKind::cpu) return;
    enter_gpu_of(group);
  }

  std::map<std::string, std::string> environment() override {
    std::map<std::string, std::string> facts = programs_;
    if (gpu_) facts.merge(gpu_facts(*gpu_));
    facts["libtorch"] = TORCH_VERSION;
    facts["cpu"] = at::get_cpu_capability();
    facts["cpu kernels"] = cpu::kernels_name();
    for (const NodeSignature& signature : catalog().nodes) {
      if (signature.runs) facts["op " + signature.key] = std::to_string(signature.version);
    }
    return facts;
  }

  std::vector<std::string> files_of(const Plan& plan) override {
    std::vector<std::string> files;
    for (const PlanModel& model : plan.models) {
      const std::filesystem::path folder = model.path;
      files.push_back((folder / "config.json").string());
      files.push_back((folder / "tokenizer.json").string());
      files.push_back((folder / "tokenizer_config.json").string());
      for (const char* name : {"generation_config.json", "chat_template.jinja"}) {
        std::error_code error;
        const bool there = std::filesystem::exists(std::filesystem::path(plan.root) / folder / name, error);
        if (there) files.push_back((folder / name).string());
      }
      if (model.random_init) continue;
      for (const std::filesystem::path& path : weight_paths(std::filesystem::path(plan.root) / folder)) {
        files.push_back((folder / path.filename()).string());
      }
    }
    for (const PlanData& data : plan.data) {
      if (data.source == "jsonl") files.push_back(data.argument);
    }
    return files;
  }

 private:
  std::filesystem::path run_dir_;                // empty until `prepare`
  std::optional<std::int32_t> gpu_;              // the first that the plan uses
  std::map<std::string, std::string> programs_;  // digests of the files of reward programs
};

}  // namespace

Cluster usable_machine() {
  Cluster machine;
  if (!has_gpu_code()) machine.name = "this build, made without `--cuda`,";
  machine.cpu_threads = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  machine.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  machine.gpus = usable_gpus();
  return machine;
}

std::unique_ptr<NodeLibrary> make_run_library() { return std::make_unique<RunLibrary>(); }

}  // namespace rlflow
