// A model whose parameters and optimizer state stand in the memory of one GPU.
#include "nodes/model/cuda_model.h"

#include <cmath>

#include "nodes/model/bf16.h"
#include "nodes/model/model_files.h"
#include "nodes/model/rotary.h"
#include "nodes/model/weights_digest.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr const char* kParametersPart = "parameters";
constexpr const char* kOptimizerPart = "optimizer";

cuda::DeviceBuffer upload(const void* from, std::int64_t bytes, const cuda::Stream& stream) {
  cuda::DeviceBuffer buffer(bytes);
  cuda::copy(buffer.data(), from, bytes, stream);
  return buffer;
}

}  // namespace

struct CudaModel::Rotary {
  struct Table {
    cuda::DeviceBuffer cos, sin;
    CudaRotary view() const { return {cos.as<const float>(), sin.as<const float>()}; }
  };
  explicit Rotary(const ModelConfig& config) {
    const cuda::Stream stream;
    const RotaryTables tables(config);
    full = table(tables.of(false), stream);
    if (&tables.of(true) != &tables.of(false)) local = table(tables.of(true), stream);
    stream.synchronize();
  }
  static Table table(const RotaryTable& from, const cuda::Stream& stream) {
    const auto bytes = static_cast<std::int64_t>(from.cos.size() * sizeof(float));
    return {upload(from.cos.data(), bytes, stream), upload(from.sin.data(), bytes, stream)};
  }
  Table full, local;  // local is empty where it would be the same
};

struct CudaModel::Optimizer {
  Optimizer(const AdamWSettings& of, const ParameterLayout& layout)
      : settings(of),
        moment1(layout.size * 4),
        moment2(layout.size * 4),
        norm_scratch(cuda::kNormScratch),
        scale(sizeof(cuda::GradientScale)) {
    cuda::fill_bytes(moment1.data(), 0, moment1.bytes(), stream);
    cuda::fill_bytes(moment2.data(), 0, moment2.bytes(), stream);
    std::vector<std::int64_t> bounds;
    for (const ParameterSlot& slot : layout.slots) {
      if (slot.role == ParameterRole::matrix || settings.decay_all) continue;
      bounds.push_back(slot.offset);
      bounds.push_back(slot.offset + slot.count);
    }
    ranges = static_cast<std::int64_t>(bounds.size() / 2);
    if (ranges > 0) undecayed = upload(bounds.data(), static_cast<std::int64_t>(bounds.size()) * 8, stream);
    stream.synchronize();
  }

  cuda::Stream stream;
  AdamWSettings settings;
  cuda::DeviceBuffer moment1, moment2;  // f32[layout.size]
  cuda::DeviceBuffer undecayed, norm_scratch, scale;
  std::int64_t ranges = 0;
  std::int64_t steps = 0;  // applied so far
};

CudaModel::CudaModel(std::filesystem::path folder, ModelConfig config, const ModelPlace& place, Head head)
    : config_(std::make_shared<const ModelConfig>(std::move(config))),
      layout_(std::make_shared<const ParameterLayout>(*config_, head)),
      folder_(std::move(folder)),
      device_(place.index),
      element_(place.dtype == Dtype::bf16 ? cuda::Element::bf16 : cuda::Element::f32) {
  cuda::use_device(device_);
  rotary_ = std::make_shared<const Rotary>(*config_);
  weights_ = cuda::DeviceBuffer(layout_->size * cuda::bytes_of(element_));
  if (element_ == cuda::Element::bf16 && place.trainable) master_ = cuda::DeviceBuffer(layout_->size * 4);
}

CudaModel::CudaModel(const CudaModel& model, cuda::Element element)
    : config_(model.config_),
      layout_(model.layout_),
      rotary_(model.rotary_),
      folder_(model.folder_),
      device_(model.device_),
      element_(element) {
  cuda::use_device(device_);
  const cuda::Stream stream;
  weights_ = cuda::DeviceBuffer(layout_->size * cuda::bytes_of(element_));
  cuda::convert(model.weights_.data(), model.element_, weights_.data(), element_, layout_->size, stream);
  stream.synchronize();
}

std::unique_ptr<CudaModel> CudaModel::load_folder(const std::filesystem::path& folder, const ModelPlace& place,
                                                  Head head) {
  ModelConfig config = read_model_config(folder);
  const at::Tensor parameters = read_weights(folder, config, ParameterLayout(config, head));
  std::unique_ptr<CudaModel> model(new CudaModel(folder, std::move(config), place, head));
  model->begin_with(floats(parameters));
  return model;
}

std::unique_ptr<CudaModel> CudaModel::draw(const std::filesystem::path& folder, std::uint64_t seed,
                                           const ModelPlace& place, Head head) {
  std::unique_ptr<CudaModel> model(new CudaModel(folder, read_model_config(folder), place, head));
  const at::Tensor parameters = make_floats(model->layout_->size);
  initialise(*model->config_, *model->layout_, seed, floats(parameters));
  model->begin_with(floats(parameters));
  return model;
}

// A bf16 model is its rounded weights, and its master begins as they are.
void CudaModel::begin_with(float* on_host) {
  if (element_ == cuda::Element::bf16) round_to_bf16(on_host, layout_->size, 1, on_host);
  set_parameters(on_host);
}

std::unique_ptr<CudaModel> CudaModel::allocate(const std::filesystem::path& folder, const ModelPlace& place,
                                               Head head) {
  return std::unique_ptr<CudaModel>(new CudaModel(folder, read_model_config(folder), place, head));
}

CudaView CudaModel::view() const {
  const CudaRotary full = rotary_->full.view();
  const bool same = rotary_->local.cos.data() == nullptr;
  return {*config_, *layout_, weights_.data(), element_, full, same ? full : rotary_->local.view(), device_};
}

at::Tensor CudaModel::on_host(const void* values, cuda::Element element) const {
  cuda::use_device(device_);
  const cuda::Stream stream;
  at::Tensor host = make_floats(layout_->size);
  if (element == cuda::Element::f32) {
    cuda::copy(floats(host), values, layout_->size * 4, stream);
    stream.synchronize();
    return host;
  }
  const cuda::DeviceBuffer wide(layout_->size * 4);
  cuda::convert(values, element, wide.data(), cuda::Element::f32, layout_->size, stream);
  cuda::copy(floats(host), wide.data(), layout_->size * 4, stream);
  stream.synchronize();
  return host;
}

at::Tensor CudaModel::parameters_on_host() const { return on_host(stored(), stored_element()); }
at::Tensor CudaModel::weights_on_host() const { return on_host(weights_.data(), element_); }

void CudaModel::set_parameters(const float* on_host) {
  cuda::use_device(device_);
  const cuda::Stream stream;
  if (stored_element() == cuda::Element::f32) {
    cuda::copy(stored(), on_host, layout_->size * 4, stream);
    if (has_master()) cuda::convert(stored(), cuda::Element::f32, weights_.data(), element_, layout_->size, stream);
    return stream.synchronize();
  }
  const cuda::DeviceBuffer wide = upload(on_host, layout_->size * 4, stream);
  cuda::convert(wide.data(), cuda::Element::f32, weights_.data(), element_, layout_->size, stream);
  stream.synchronize();
}

void CudaModel::attach_optimizer(const AdamWSettings& settings) {
  RLFLOW_CHECK(!optimizer_, "a model has one optimizer");
  RLFLOW_CHECK(stored_element() == cuda::Element::f32, "a bf16 model that was not made trainable");
  cuda::use_device(device_);
  optimizer_ = std::make_shared<Optimizer>(settings, *layout_);
}

AdamWStep CudaModel::apply(const float* gradient) {
  RLFLOW_CHECK(optimizer_, "the model is frozen");
  cuda::use_device(device_);
  Optimizer& own = *optimizer_;
  const AdamWSettings& settings = own.settings;
  const double t = static_cast<double>(own.steps + 1);
  AdamWStep result;
  result.learning_rate = settings.schedule.rate(own.steps + 1);
  cuda::gradient_scale(gradient, layout_->size, settings.clip, own.norm_scratch.data(),
                       own.scale.as<cuda::GradientScale>(), own.stream);
  const cuda::AdamSettings step{static_cast<float>(result.learning_rate),
                                static_cast<float>(settings.beta1),
                                static_cast<float>(settings.beta2),
                                static_cast<float>(settings.eps),
                                static_cast<float>(settings.decay),
                                static_cast<float>(1 - std::pow(settings.beta1, t)),
                                static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, t)))};
  cuda::adam_step(step, own.scale.as<cuda::GradientScale>(), own.undecayed.as<std::int64_t>(), own.ranges,
                  layout_->size, static_cast<float*>(stored()), has_master() ? weights_.data() : nullptr, gradient,
                  own.moment1.as<float>(), own.moment2.as<float>(), own.stream);
  cuda::GradientScale scale;
  cuda::copy(&scale, own.scale.data(), sizeof scale, own.stream);
  own.stream.synchronize();
  result.gradient_norm = scale.norm;
  result.applied = scale.finite != 0;
  if (result.applied) ++own.steps;
  return result;
}

WeightsDigest CudaModel::digest_of_buffer(const void* values, cuda::Element element, const std::string& prefix) const {
  cuda::use_device(device_);
  const cuda::Stream stream;
  std::vector<cuda::DigestPart> parts;
  for (const ParameterSlot& slot : layout_->slots) {
    parts.push_back({tensor_id(prefix + slot.name), slot.offset, slot.count});
  }
  const cuda::DeviceBuffer scratch(cuda::kDigestScratch), sum(2 * sizeof(std::uint64_t));
  cuda::digest(values, element, parts.data(), static_cast<std::int64_t>(parts.size()), sum.as<std::uint64_t>(),
               scratch.data(), stream);
  std::uint64_t words[2] = {};
  cuda::copy(words, sum.data(), sizeof words, stream);
  stream.synchronize();
  return {words[0], words[1]};
}

WeightsDigest CudaModel::weights_digest() const { return digest_of_buffer(weights_.data(), element_, ""); }

Digest CudaModel::state_digest() const {
  Hasher hasher;
  hasher.field(hex(weights_digest()));
  if (has_master()) hasher.field(hex(digest_of_buffer(master_.data(), cuda::Element::f32, kMaster)));
  if (optimizer_) {
    hasher.field(hex(digest_of_buffer(optimizer_->moment1.data(), cuda::Element::f32, kMoment1)));
    hasher.field(hex(digest_of_buffer(optimizer_->moment2.data(), cuda::Element::f32, kMoment2)));
    hasher.field(optimizer_->steps);
  }
  return hasher.finish();
}

std::vector<std::string> CudaModel::parts() const {
  if (optimizer_) return {kParametersPart, kOptimizerPart};
  return {kParametersPart};
}

void CudaModel::save(std::string_view part, ByteSink& sink) const {
  if (part == kParametersPart) return write_parameters(*layout_, floats(parameters_on_host()), sink);
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  cuda::use_device(device_);
  const cuda::Stream stream;
  const at::Tensor moment1 = make_floats(layout_->size), moment2 = make_floats(layout_->size);
  cuda::copy(floats(moment1), optimizer_->moment1.data(), layout_->size * 4, stream);
  cuda::copy(floats(moment2), optimizer_->moment2.data(), layout_->size * 4, stream);
  stream.synchronize();
  write_moments(*layout_, floats(moment1), floats(moment2), optimizer_->steps, sink);
}

void CudaModel::load(std::string_view part, std::span<const std::byte> bytes) {
  const at::Tensor first = make_floats(layout_->size);
  if (part == kParametersPart) {
    read_parameters(bytes, *config_, *layout_, floats(first));
    return set_parameters(floats(first));
  }
  RLFLOW_CHECK(part == kOptimizerPart && optimizer_, std::string(part));
  const at::Tensor second = make_floats(layout_->size);
  const std::int64_t steps = read_moments(bytes, *layout_, floats(first), floats(second));
  cuda::use_device(device_);
  cuda::copy(optimizer_->moment1.data(), floats(first), layout_->size * 4, optimizer_->stream);
  cuda::copy(optimizer_->moment2.data(), floats(second), layout_->size * 4, optimizer_->stream);
  optimizer_->stream.synchronize();
  optimizer_->steps = steps;
}

std::unique_ptr<ModelInstance> CudaModel::copy_for_replica(std::string_view dtype) const {
  RLFLOW_CHECK(dtype == "f32" || dtype == "bf16", std::string(dtype));
  return std::unique_ptr<ModelInstance>(
      new CudaModel(*this, dtype == "bf16" ? cuda::Element::bf16 : cuda::Element::f32));
}

void CudaModel::export_folder(const std::filesystem::path& folder) const {
  export_weights(folder_, folder, *config_, *layout_, floats(parameters_on_host()),
                 element_ == cuda::Element::bf16 ? Dtype::bf16 : Dtype::f32, 1);
}

std::string CudaModel::first_difference(std::span<const std::byte> bytes) const {
  return first_differing(bytes, *layout_, floats(parameters_on_host()));
}

std::unique_ptr<LanguageModel> CudaModel::base() const {
  throw std::runtime_error("a model on a GPU has no adapters, so it has no base of its own");
}

}  // namespace rlflow
