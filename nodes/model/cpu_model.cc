// A model whose parameters and optimizer state stand in host memory.
#include "nodes/model/cpu_model.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nodes/format/json.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_digest.h"
#include "nodes/model/weights_export.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kParametersPart = "parameters";
constexpr const char* kOptimizerPart = "optimizer";
constexpr const char* kMoment1 = "exp_avg.";
constexpr const char* kMoment2 = "exp_avg_sq.";
constexpr const char* kSteps = "steps";

WeightsDigest slots_digest(const ParameterLayout& layout, const float* values, const std::string& prefix,
                           std::int32_t threads) {
  WeightsDigest total;
  for (const ParameterSlot& slot : layout.slots) {
    total += digest_of(tensor_id(prefix + slot.name), values + slot.offset, slot.count, threads);
  }
  return total;
}

// Tensors beside the model's own would be silently dropped, so they are refused; what a tied model repeats and the
// position tables of old files carry no information, and a critic takes the place of the base's vocabulary head.
bool belongs(const std::string& name, const ParameterLayout& layout, const ModelConfig& config) {
  const bool known = std::any_of(layout.slots.begin(), layout.slots.end(),
                                 [&](const ParameterSlot& slot) { return slot.name == name; });
  const bool replaced = name == "lm_head.weight" && (config.tie_word_embeddings || layout.kind != Head::lm);
  return known || replaced || name.ends_with("rotary_emb.inv_freq");
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
  const WeightFiles files(folder);
  const ParameterLayout layout(config, head);
  const bool new_head = head == Head::value && files.find(kScoreWeight) == nullptr;
  const auto stored = std::span(layout.slots).first(layout.slots.size() - (new_head ? 1 : 0));
  check_slots(files, stored);
  for (const WeightFiles::Tensor& tensor : files.tensors()) {
    if (!belongs(tensor.name, layout, config))
      throw FormatError(files.place(tensor) + " does not belong to this model");
  }
  std::unique_ptr<CpuModel> model(new CpuModel(folder, std::move(config), threads, head));
  model->parameters_ = make_floats(layout.size);
  copy_slots(files, stored, floats(model->parameters_));
  if (new_head)
    std::fill_n(floats(model->parameters_) + layout.head, layout.head_rows * model->config().hidden_size, 0.0f);
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
  if (part == kParametersPart) {
    write_safetensors(sink, slot_views(*layout_, parameters(), ""), {{"format", "pt"}});
    return;
  }
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  std::vector<TensorView> views = slot_views(*layout_, optimizer_->moment1(), kMoment1);
  const std::vector<TensorView> seconds = slot_views(*layout_, optimizer_->moment2(), kMoment2);
  views.insert(views.end(), seconds.begin(), seconds.end());
  write_safetensors(sink, std::move(views),
                    {{"format", "rlflow.adamw/1"}, {kSteps, std::to_string(optimizer_->steps())}});
}

void CpuModel::load(std::string_view part, std::span<const std::byte> bytes) {
  const SafetensorsFile file(bytes, "checkpoint part \"" + std::string(part) + "\"");
  if (part == kParametersPart) {
    check_slots(file, layout_->slots, "");
    for (const TensorView& tensor : file.tensors()) {
      if (!belongs(tensor.name, *layout_, *config_)) {
        throw FormatError(file.what() + ": tensor \"" + tensor.name + "\" does not belong to this model");
      }
    }
    copy_slots(file, layout_->slots, "", floats(parameters_));
    panels_.refresh(parameters(), threads_);
    return;
  }
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  check_slots(file, layout_->slots, kMoment1);
  check_slots(file, layout_->slots, kMoment2);
  const std::string& text = file.metadata_at(kSteps);
  if (text.empty() || text.size() > 18 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    throw FormatError(file.what() + ": its step count \"" + text + "\" is not a whole number");
  }
  copy_slots(file, layout_->slots, kMoment1, optimizer_->moment1());
  copy_slots(file, layout_->slots, kMoment2, optimizer_->moment2());
  optimizer_->set_steps(std::stoll(text));
}

std::unique_ptr<ModelInstance> CpuModel::copy_for_replica(std::string_view dtype) const {
  if (dtype != "f32")
    throw std::runtime_error("a replica of dtype " + std::string(dtype) + " is not supported on the CPU, only f32");
  at::Tensor copy = make_floats(layout_->size);
  std::copy_n(parameters(), layout_->size, floats(copy));
  return std::unique_ptr<ModelInstance>(new CpuModel(*this, std::move(copy)));
}

void CpuModel::export_folder(const std::filesystem::path& folder) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool described = name == "generation_config.json" || name == "special_tokens_map.json" ||
                           name == "chat_template.jinja" || name.starts_with("tokenizer");
    if (entry.is_regular_file() && described) std::filesystem::copy_file(entry.path(), folder / name);
  }
  write_text(folder / "config.json", exported_model_config(*config_, layout_->kind != Head::lm));
  write_weights(folder, slot_views(*layout_, parameters(), ""), kLargestWeightFile);
}

std::string CpuModel::first_difference(std::span<const std::byte> bytes) const {
  const SafetensorsFile file(bytes, "parameters");
  for (const ParameterSlot& slot : layout_->slots) {
    const TensorView* tensor = file.find(slot.name);
    const std::span<const float> own(parameters() + slot.offset, static_cast<std::size_t>(slot.count));
    if (!tensor || tensor->data.size() != own.size_bytes() ||
        std::memcmp(tensor->data.data(), own.data(), own.size_bytes()) != 0) {
      return slot.name;
    }
  }
  return "";
}

}  // namespace rlflow
