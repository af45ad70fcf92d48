// A model whose parameters and optimizer state stand in host memory.
#include "nodes/model/cpu_model.h"

#include <algorithm>

#include "nodes/model/bf16.h"
#include "nodes/model/lanes.h"
#include "nodes/model/model_files.h"
#include "nodes/model/peft_export.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_digest.h"
#include "nodes/model/weights_export.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kParametersPart = "parameters";
constexpr const char* kOptimizerPart = "optimizer";

WeightsDigest slots_digest(const SlotTable& table, const float* values, const std::string& prefix, std::int32_t threads,
                           Dtype dtype = Dtype::f32) {
  WeightsDigest total;
  for (const ParameterSlot& slot : table.slots) {
    total += digest_of(tensor_id(prefix + slot.name), values + slot.offset, slot.count, threads, dtype);
  }
  return total;
}

at::Tensor copy_of(const float* values, std::int64_t count) {
  at::Tensor copy = make_floats(count);
  std::copy_n(values, count, floats(copy));
  return copy;
}

// Calls use(matrix of the panels, its adapters) for each matrix of a layer that has some.
template <class Layer, class Use>
void for_adapted(const LayerAdapters& adapters, Layer& layer, const Use& use) {
  if (!adapters.query_key_value.empty()) use(layer.query_key_value, adapters.query_key_value);
  if (!adapters.output.empty()) use(layer.output, adapters.output);
  if (!adapters.gate_up.empty()) use(layer.gate_up, adapters.gate_up);
  if (!adapters.down.empty()) use(layer.down, adapters.down);
}

}  // namespace

CpuModel::CpuModel(std::filesystem::path folder, ModelConfig config, std::int32_t threads, const ModelForm& form)
    : config_(std::make_shared<const ModelConfig>(std::move(config))),
      layout_(std::make_shared<const ParameterLayout>(*config_, form.head)),
      rotary_(std::make_shared<const RotaryTables>(*config_)),
      folder_(std::move(folder)),
      threads_(threads),
      dtype_(form.dtype),
      panels_(*config_, *layout_) {}

CpuModel::CpuModel(const CpuModel& model, at::Tensor parameters, ForwardPanels panels, Dtype dtype)
    : config_(model.config_),
      layout_(model.layout_),
      rotary_(model.rotary_),
      folder_(model.folder_),
      drawn_(model.drawn_),
      threads_(model.threads_),
      dtype_(dtype),
      parameters_(std::move(parameters)),
      panels_(std::move(panels)) {}

std::unique_ptr<CpuModel> CpuModel::load_folder(const std::filesystem::path& folder, std::int32_t threads,
                                                const ModelForm& form) {
  ModelConfig config = read_model_config(folder);
  at::Tensor parameters = read_weights(folder, config, ParameterLayout(config, form.head));
  std::unique_ptr<CpuModel> model(new CpuModel(folder, std::move(config), threads, form));
  model->parameters_ = std::move(parameters);
  model->complete(form);
  return model;
}

std::unique_ptr<CpuModel> CpuModel::draw(const std::filesystem::path& folder, std::uint64_t seed, std::int32_t threads,
                                         const ModelForm& form) {
  std::unique_ptr<CpuModel> model(new CpuModel(folder, read_model_config(folder), threads, form));
  model->drawn_ = true;
  model->parameters_ = make_floats(model->layout_->size);
  initialise(*model->config_, *model->layout_, seed, floats(model->parameters_));
  model->complete(form);
  return model;
}

std::unique_ptr<CpuModel> CpuModel::of_weights(const std::filesystem::path& folder, at::Tensor parameters,
                                               std::int32_t threads, const ModelForm& form) {
  std::unique_ptr<CpuModel> model(new CpuModel(folder, read_model_config(folder), threads, form));
  model->drawn_ = true;
  RLFLOW_CHECK(parameters.numel() == model->layout_->size, "parameters of another shape");
  model->parameters_ = std::move(parameters);
  model->complete(form);
  return model;
}

// From the parameters as they were read or drawn to the whole model.
void CpuModel::complete(const ModelForm& form) {
  float* values = floats(parameters_);
  if (dtype_ == Dtype::bf16) round_to_bf16(values, layout_->size, threads_, values);
  panels_.refresh(values, threads_);
  if (!form.lora) return;
  lora_ = *form.lora;
  base_digest_ = weights_digest();
  auto layout = std::make_shared<const AdapterLayout>(*config_, lora_);
  at::Tensor drawn = make_floats(layout->size);
  draw_adapters(*layout, lora_.seed, floats(drawn));
  set_adapters(std::move(layout), std::move(drawn));
}

// The panels of the matrices that have adapters become this model's own.
void CpuModel::set_adapters(std::shared_ptr<const AdapterLayout> layout, at::Tensor values) {
  adapters_ = std::move(layout);
  adapter_values_ = std::move(values);
  adapters_turned_ = make_floats(adapters_->size);
  view_.emplace(AdapterView{*adapters_, floats(adapter_values_), floats(adapters_turned_)});
  for (std::int64_t i = 0; i < config_->layers; ++i) {
    for_adapted(adapters_->layers[static_cast<std::size_t>(i)], panels_.layer(i),
                [&](ForwardPanels::Matrix& matrix, const std::vector<Adapter>&) { panels_.separate(matrix); });
  }
  merge_panels();
}

const SlotTable& CpuModel::trained_slots() const {
  if (adapters_) return *adapters_;
  return *layout_;
}

const at::Tensor& CpuModel::trained_tensor() const {
  return adapters_ ? adapter_values_ : master_.defined() ? master_ : parameters_;
}

// Brings what passes read up to date with what is trained.
void CpuModel::trained_changed() {
  if (adapters_) return merge_panels();
  if (dtype_ == Dtype::bf16) round_to_bf16(trained(), layout_->size, threads_, floats(parameters_));
  panels_.refresh(parameters(), threads_);
}

void CpuModel::merge_panels() {
  turn_adapters(*adapters_, floats(adapter_values_), floats(adapters_turned_));
  run_lanes(config_->layers, threads_, [&](std::int64_t i) {
    std::vector<float> sum;
    for_adapted(adapters_->layers[static_cast<std::size_t>(i)], panels_.layer(i),
                [&](const ForwardPanels::Matrix& matrix, const std::vector<Adapter>& adapters) {
                  const std::int64_t size = matrix.rows * matrix.columns;
                  sum.assign(parameters() + matrix.source, parameters() + matrix.source + size);
                  add_adapters(*adapters_, adapters, floats(adapter_values_), sum.data());
                  if (dtype_ == Dtype::bf16) round_to_bf16(sum.data(), size, 1, sum.data());
                  ForwardPanels::fill(matrix, sum.data());
                });
  });
}

// All parameters as the forward pass reads them.
at::Tensor CpuModel::merged_parameters() const {
  at::Tensor merged = copy_of(parameters(), layout_->size);
  if (!adapters_) return merged;
  for (std::int64_t i = 0; i < config_->layers; ++i) {
    for_adapted(adapters_->layers[static_cast<std::size_t>(i)], panels_.layer(i),
                [&](const ForwardPanels::Matrix& matrix, const std::vector<Adapter>& adapters) {
                  float* values = floats(merged) + matrix.source;
                  add_adapters(*adapters_, adapters, floats(adapter_values_), values);
                  if (dtype_ == Dtype::bf16) round_to_bf16(values, matrix.rows * matrix.columns, threads_, values);
                });
  }
  return merged;
}

void CpuModel::attach_optimizer(const AdamWSettings& settings) {
  RLFLOW_CHECK(!optimizer_, "a model has one optimizer");
  if (dtype_ == Dtype::bf16 && !adapters_) master_ = copy_of(parameters(), layout_->size);
  optimizer_.emplace(settings, trained_slots());
}

AdamWStep CpuModel::apply(const float* gradient) {
  RLFLOW_CHECK(optimizer_, "the model is frozen");
  const AdamWStep step = optimizer_->step(floats(trained_tensor()), gradient, threads_);
  if (step.applied) trained_changed();
  return step;
}

// The frozen model shares the base's memory; the panels of the matrices that have adapters are filled anew, since here
// they hold the sum.
std::unique_ptr<LanguageModel> CpuModel::base() const {
  RLFLOW_CHECK(adapters_, "a model without adapters has no base");
  std::unique_ptr<CpuModel> base(new CpuModel(*this, parameters_, panels_, dtype_));
  for (std::int64_t i = 0; i < config_->layers; ++i) {
    for_adapted(adapters_->layers[static_cast<std::size_t>(i)], base->panels_.layer(i),
                [&](ForwardPanels::Matrix& matrix, const std::vector<Adapter>&) {
                  base->panels_.separate(matrix);
                  ForwardPanels::fill(matrix, parameters() + matrix.source);
                });
  }
  return base;
}

WeightsDigest CpuModel::weights_digest() const {
  if (!adapters_) return slots_digest(*layout_, parameters(), "", threads_, dtype_);
  WeightsDigest total = base_digest_;
  total += slots_digest(*adapters_, trained(), "", threads_);
  return total;
}

Digest CpuModel::state_digest() const {
  Hasher hasher;
  hasher.field(hex(weights_digest()));
  if (master_.defined()) hasher.field(hex(slots_digest(*layout_, floats(master_), kMaster, threads_)));
  if (optimizer_) {
    hasher.field(hex(slots_digest(trained_slots(), optimizer_->moment1(), kMoment1, threads_)));
    hasher.field(hex(slots_digest(trained_slots(), optimizer_->moment2(), kMoment2, threads_)));
    hasher.field(optimizer_->steps());
  }
  return hasher.finish();
}

std::vector<std::string> CpuModel::parts() const {
  if (optimizer_) return {kParametersPart, kOptimizerPart};
  return {kParametersPart};
}

void CpuModel::save(std::string_view part, ByteSink& sink) const {
  if (part == kParametersPart) return write_parameters(trained_slots(), trained(), sink);
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  write_moments(trained_slots(), optimizer_->moment1(), optimizer_->moment2(), optimizer_->steps(), sink);
}

void CpuModel::load(std::string_view part, std::span<const std::byte> bytes) {
  if (part == kParametersPart) {
    float* values = floats(trained_tensor());
    adapters_ ? read_adapters(bytes, *adapters_, values) : read_parameters(bytes, *config_, *layout_, values);
    trained_changed();
    return;
  }
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  optimizer_->set_steps(read_moments(bytes, trained_slots(), optimizer_->moment1(), optimizer_->moment2()));
}

// A copy of the same dtype shares the base of adapters, which never changes, and merges for itself.
std::unique_ptr<ModelInstance> CpuModel::copy_for_replica(std::string_view dtype) const {
  RLFLOW_CHECK(dtype == "f32" || dtype == "bf16", std::string(dtype));
  const Dtype wanted = dtype == "bf16" ? Dtype::bf16 : Dtype::f32;
  if (adapters_ && wanted == dtype_) {
    std::unique_ptr<CpuModel> copy(new CpuModel(*this, parameters_, panels_, dtype_));
    copy->lora_ = lora_;
    copy->base_digest_ = base_digest_;
    copy->set_adapters(adapters_, copy_of(trained(), adapters_->size));
    return copy;
  }
  at::Tensor parameters = merged_parameters();
  if (wanted == Dtype::bf16) round_to_bf16(floats(parameters), layout_->size, threads_, floats(parameters));
  std::unique_ptr<CpuModel> copy(new CpuModel(*this, std::move(parameters), ForwardPanels(*config_, *layout_), wanted));
  copy->panels_.refresh(copy->parameters(), threads_);
  return copy;
}

void CpuModel::export_folder(const std::filesystem::path& folder) const {
  if (!adapters_) return export_merged(folder);
  if (drawn_) {
    throw std::runtime_error(
        "the base of the adapters was drawn and is in no folder that PEFT could add them to; export it merged");
  }
  copy_tokenizer_files(folder_, folder);
  write_peft_folder(folder, folder_, lora_, slot_views(*adapters_, trained(), ""));
}

void CpuModel::export_merged(const std::filesystem::path& folder) const {
  const at::Tensor merged = adapters_ ? merged_parameters() : parameters_;
  export_weights(folder_, folder, *config_, *layout_, floats(merged), dtype_, threads_);
}

std::string CpuModel::first_difference(std::span<const std::byte> bytes) const {
  return first_differing(bytes, trained_slots(), trained());
}

}  // namespace rlflow
