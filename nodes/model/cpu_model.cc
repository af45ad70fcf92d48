// A model whose parameters and optimizer state stand in host memory.
#include "nodes/model/cpu_model.h"

#include <algorithm>

#include "nodes/model/model_files.h"
#include "nodes/model/weights_digest.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kParametersPart = "parameters";
constexpr const char* kOptimizerPart = "optimizer";

WeightsDigest slots_digest(const ParameterLayout& layout, const float* values, const std::string& prefix,
                           std::int32_t threads) {
  WeightsDigest total;
  for (const ParameterSlot& slot : layout.slots) {
    total += digest_of(tensor_id(prefix + slot.name), values + slot.offset, slot.count, threads);
  }
  return total;
}

}  // namespace

CpuModel::CpuModel(std::filesystem::path folder, ModelConfig config, std::int32_t threads, Head head)
    : config_(std::make_shared<const ModelConfig>(std::move(config))),
      layout_(std::make_shared<const ParameterLayout>(*config_, head)),
      rotary_(std::make_shared<const RotaryTables>(*config_)),
      folder_(std::move(folder)),
      threads_(threads),
      panels_(*config_, *layout_) {}

CpuModel::CpuModel(const CpuModel& model, at::Tensor parameters)
    : config_(model.config_),
      layout_(model.layout_),
      rotary_(model.rotary_),
      folder_(model.folder_),
      threads_(model.threads_),
      parameters_(std::move(parameters)),
      panels_(*config_, *layout_) {
  panels_.refresh(floats(parameters_), threads_);
}

std::unique_ptr<CpuModel> CpuModel::load_folder(const std::filesystem::path& folder, std::int32_t threads, Head head) {
  ModelConfig config = read_model_config(folder);
  at::Tensor parameters = read_weights(folder, config, ParameterLayout(config, head));
  std::unique_ptr<CpuModel> model(new CpuModel(folder, std::move(config), threads, head));
  model->parameters_ = std::move(parameters);
  model->panels_.refresh(model->parameters(), threads);
  return model;
}

std::unique_ptr<CpuModel> CpuModel::draw(const std::filesystem::path& folder, std::uint64_t seed, std::int32_t threads,
                                         Head head) {
  std::unique_ptr<CpuModel> model(new CpuModel(folder, read_model_config(folder), threads, head));
  model->parameters_ = make_floats(model->layout_->size);
  initialise(*model->config_, *model->layout_, seed, floats(model->parameters_));
  model->panels_.refresh(model->parameters(), threads);
  return model;
}

void CpuModel::attach_optimizer(const AdamWSettings& settings) {
  RLFLOW_CHECK(!optimizer_, "a model has one optimizer");
  optimizer_.emplace(settings, *layout_);
}

AdamWStep CpuModel::apply(const float* gradient) {
  RLFLOW_CHECK(optimizer_, "the model is frozen");
  const AdamWStep step = optimizer_->step(floats(parameters_), gradient, threads_);
  if (step.applied) panels_.refresh(parameters(), threads_);
  return step;
}

WeightsDigest CpuModel::weights_digest() const { return slots_digest(*layout_, parameters(), "", threads_); }

Digest CpuModel::state_digest() const {
  Hasher hasher;
  hasher.field(hex(weights_digest()));
  if (optimizer_) {
    hasher.field(hex(slots_digest(*layout_, optimizer_->moment1(), kMoment1, threads_)));
    hasher.field(hex(slots_digest(*layout_, optimizer_->moment2(), kMoment2, threads_)));
    hasher.field(optimizer_->steps());
  }
  return hasher.finish();
}

std::vector<std::string> CpuModel::parts() const {
  if (optimizer_) return {kParametersPart, kOptimizerPart};
  return {kParametersPart};
}

void CpuModel::save(std::string_view part, ByteSink& sink) const {
  if (part == kParametersPart) return write_parameters(*layout_, parameters(), sink);
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  write_moments(*layout_, optimizer_->moment1(), optimizer_->moment2(), optimizer_->steps(), sink);
}

void CpuModel::load(std::string_view part, std::span<const std::byte> bytes) {
  if (part == kParametersPart) {
    read_parameters(bytes, *config_, *layout_, floats(parameters_));
    panels_.refresh(parameters(), threads_);
    return;
  }
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  optimizer_->set_steps(read_moments(bytes, *layout_, optimizer_->moment1(), optimizer_->moment2()));
}

std::unique_ptr<ModelInstance> CpuModel::copy_for_replica(std::string_view dtype) const {
  if (dtype != "f32")
    throw std::runtime_error("a replica of dtype " + std::string(dtype) + " is not supported on the CPU, only f32");
  at::Tensor copy = make_floats(layout_->size);
  std::copy_n(parameters(), layout_->size, floats(copy));
  return std::unique_ptr<ModelInstance>(new CpuModel(*this, std::move(copy)));
}

void CpuModel::export_folder(const std::filesystem::path& folder) const {
  export_weights(folder_, folder, *config_, *layout_, parameters());
}

std::string CpuModel::first_difference(std::span<const std::byte> bytes) const {
  return first_differing(bytes, *layout_, parameters());
}

}  // namespace rlflow
