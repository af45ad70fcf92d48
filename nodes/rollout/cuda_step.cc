// Rows through the transformer on a GPU, draws, and whole decode steps as graphs.
#include "nodes/rollout/cuda_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "nodes/model/attention.h"
#include "nodes/model/layer.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

// Logits that exist at once while prompts are read.
constexpr std::int64_t kLogitRows = 64;

std::int64_t projection_width(const ModelConfig& config) { return config.query_size() + 2 * config.kv_size(); }

int narrow(std::int64_t size) { return static_cast<int>(size); }

// The smallest bucket that holds `rows`; each has a graph of its own.
std::int64_t bucket_of(std::int64_t rows) {
  for (std::int64_t bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768}) {
    if (rows <= bucket) return bucket;
  }
  return (rows + 255) / 256 * 256;
}

cuda::SamplerSettings sampler_of(const SamplingSettings& sampling, const std::vector<std::int32_t>& end_ids) {
  cuda::SamplerSettings s{};
  s.greedy = sampling.temperature == 0;
  s.inverse_temperature = s.greedy ? 1.0f : static_cast<float>(1.0 / std::max(sampling.temperature, 1e-8));
  s.top_k = s.greedy ? 0 : sampling.top_k;
  s.top_p = s.greedy ? 1 : sampling.top_p;
  s.min_p = s.greedy ? 0 : sampling.min_p;
  s.min_new = static_cast<std::int32_t>(sampling.min_new);
  s.max_new = static_cast<std::int32_t>(sampling.max_new);
  if (end_ids.size() > static_cast<std::size_t>(cuda::kMostEndIds)) {
    throw std::runtime_error("the model has " + std::to_string(end_ids.size()) +
                             " end ids; generation on a GPU takes at most " + std::to_string(cuda::kMostEndIds));
  }
  s.end_count = static_cast<std::int32_t>(end_ids.size());
  std::copy(end_ids.begin(), end_ids.end(), s.end_ids);
  return s;
}

cuda::RowNorm norm_at(const CudaView& model, std::int64_t offset) {
  return {model.at(offset), norm_offset(model.config), static_cast<float>(model.config.rms_norm_eps)};
}

const void* bias_at(const CudaView& model, std::int64_t offset) {
  return offset == kAbsent ? nullptr : model.at(offset);
}

cuda::NextNorm next_norm(const CudaView& model, std::int64_t offset) {
  return {model.at(offset), norm_offset(model.config)};
}

cuda::PagedShape paged_shape(const ModelConfig& config, std::int64_t layer) {
  return {narrow(config.heads), narrow(config.kv_heads), narrow(config.head_dim), attention_scale(config),
          config.slides(layer) ? narrow(config.window) : 0};
}

const LayerOffsets& offsets_of(const CudaView& model, std::int64_t layer) {
  return model.layout.layers[static_cast<std::size_t>(layer)];
}

}  // namespace

std::int64_t CudaStep::page_bytes(const CudaView& model) {
  return model.config.layers * 2 * model.config.kv_size() * cuda::kPageTokens * cuda::bytes_of(model.element);
}

std::int64_t CudaStep::bytes_for_pages() const { return cuda::memory_use().available + kv_.bytes(); }

void CudaStep::start(const CudaView& model, const SamplingSettings& sampling, const Sizes& sizes) {
  sizes_ = sizes;
  truncated_ = sampling.temperature != 0 && (sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0);
  kv_.reserve(sizes.pages * page_bytes(model));
  // Layers stand apart by the pages that there are now.
  sizes_.pages = kv_.bytes() / page_bytes(model);
  tables_.reserve(sizes.tables * sizes.table_pages * 4);
  reserve_rows(model, std::max(sizes.slots, kReadRows));
  reserve_draws(model, std::max(bucket_of(sizes.slots), kLogitRows), bucket_of(sizes.slots));
  sampler_.reserve(sizeof(cuda::SamplerSettings));
  const cuda::SamplerSettings settings = sampler_of(sampling, model.config.end_ids);
  cuda::copy(sampler_.data(), &settings, sizeof settings, stream_);
  changed_.clear();
}

void CudaStep::reserve_rows(const CudaView& model, std::int64_t rows) {
  const ModelConfig& config = model.config;
  const std::int64_t element = cuda::bytes_of(model.element);
  row_capacity_ = std::max(bucket_of(rows), row_capacity_);
  rows_.reserve(row_capacity_ * static_cast<std::int64_t>(sizeof(cuda::StepRow)));
  hidden_.reserve(row_capacity_ * config.hidden_size * 4);
  normed_.reserve(row_capacity_ * config.hidden_size * element);
  projections_.reserve(row_capacity_ * projection_width(config) * 4);
  attended_.reserve(row_capacity_ * config.query_size() * element);
  if (config.branch_norms) branch_.reserve(row_capacity_ * config.hidden_size * 4);
  gate_up_.reserve(row_capacity_ * 2 * config.intermediate_size * element);
  wide_.reserve(row_capacity_ * config.intermediate_size * element);
  squares_.reserve(cuda::kMostFewRows * (config.hidden_size / cuda::kSquareElements + 1) * 4);
}

void CudaStep::reserve_draws(const CudaView& model, std::int64_t logit_rows, std::int64_t draws) {
  const std::int64_t vocabulary = model.config.vocab_size;
  logits_.reserve(logit_rows * vocabulary * 4);
  draws_.reserve(draws * static_cast<std::int64_t>(sizeof(cuda::Draw)));
  floors_.reserve(draws * 4);
  const std::int64_t parts = std::max(draws * cuda::draw_tiles(narrow(vocabulary)),
                                      std::int64_t{cuda::kMostFewRows} * cuda::head_tiles(narrow(vocabulary)));
  parts_.reserve(parts * static_cast<std::int64_t>(sizeof(cuda::DrawPart)));
  drawn_.reserve(draws * kMostSteps * static_cast<std::int64_t>(sizeof(cuda::Drawn)));
  produced_.reserve(draws * 4);
  last_.reserve(kReadRows * 4);
}

void CudaStep::set_page(std::int64_t table, std::int64_t at, std::int32_t page) {
  RLFLOW_CHECK(table < sizes_.tables && at < sizes_.table_pages && page < sizes_.pages, "a page out of range");
  changed_.push_back({static_cast<std::int32_t>(table * sizes_.table_pages + at), page});
}

void CudaStep::change_pages() {
  if (changed_.empty()) return;
  const auto bytes = static_cast<std::int64_t>(changed_.size() * sizeof(cuda::PageChange));
  changes_.reserve(bytes);
  cuda::copy(changes_.data(), changed_.data(), bytes, stream_);
  cuda::change_pages(stream_, changes_.as<cuda::PageChange>(), narrow(static_cast<std::int64_t>(changed_.size())),
                     tables_.as<std::int32_t>());
  changed_.clear();
}

cuda::KvPages CudaStep::pages(const CudaView& model, std::int64_t layer) const {
  const std::int64_t stride = 2 * model.config.kv_size() * cuda::kPageTokens;
  return {kv_.as<char>() + layer * sizes_.pages * stride * cuda::bytes_of(model.element), stride,
          tables_.as<std::int32_t>(), sizes_.table_pages};
}

void CudaStep::attend(const CudaView& model, std::int64_t layer, std::int64_t count, Pass pass) {
  const ModelConfig& config = model.config;
  const LayerOffsets& at = offsets_of(model, layer);
  const cuda::PagedShape shape = paged_shape(config, layer);
  const cuda::HeadNorms norms{bias_at(model, at.query_norm), bias_at(model, at.key_norm), norm_offset(config),
                              static_cast<float>(config.rms_norm_eps)};
  const cuda::Rotary rotary{model.rotary(layer).cos, model.rotary(layer).sin};
  const cuda::KvPages kv = pages(model, layer);
  const auto* rows = rows_.as<cuda::StepRow>();
  auto* projections = projections_.as<float>();
  const void* bias = bias_at(model, at.query_key_value_bias);
  const bool tensor_cores = cuda::attend_pages_serves(shape, model.element);
  if (tensor_cores && pass == Pass::decode) {
    cuda::store_and_attend_pages(stream_, rows, narrow(count), projections, bias, shape, norms, rotary, kv,
                                 attended_.data());
    return;
  }
  cuda::store_rows(stream_, rows, narrow(count), projections, bias, shape, norms, rotary, kv, model.element);
  if (tensor_cores) {
    cuda::attend_stored_pages(stream_, rows, narrow(count), projections, shape, kv, attended_.data());
  } else {
    cuda::attend_rows(stream_, rows, narrow(count), projections, shape, kv, model.element, attended_.data());
  }
}

void CudaStep::attention_branch(const CudaView& model, std::int64_t layer, std::int64_t count, Pass pass) {
  const ModelConfig& config = model.config;
  const LayerOffsets& at = offsets_of(model, layer);
  const int rows = narrow(count), hidden = narrow(config.hidden_size);
  cuda::norm_rows(stream_, hidden_.as<float>(), rows, hidden, norm_at(model, at.attention_norm), model.element,
                  normed_.data());
  products_.linear(normed_.data(), model.at(at.query_key_value), nullptr, model.element, count, config.hidden_size,
                   projection_width(config), projections_.data(), cuda::Element::f32, false, stream_);
  attend(model, layer, count, pass);
  float* to = config.branch_norms ? branch_.as<float>() : hidden_.as<float>();
  products_.linear(attended_.data(), model.at(at.output), nullptr, model.element, count, config.query_size(),
                   config.hidden_size, to, cuda::Element::f32, !config.branch_norms, stream_);
  if (at.output_bias != kAbsent)
    cuda::add_bias_rows(stream_, model.at(at.output_bias), rows, hidden, model.element, to);
  if (config.branch_norms) {
    cuda::add_normed_rows(stream_, to, rows, hidden, norm_at(model, at.attention_branch_norm), model.element,
                          hidden_.as<float>());
  }
}

void CudaStep::mlp_branch(const CudaView& model, std::int64_t layer, std::int64_t count) {
  const ModelConfig& config = model.config;
  const LayerOffsets& at = offsets_of(model, layer);
  const int rows = narrow(count), hidden = narrow(config.hidden_size), inner = narrow(config.intermediate_size);
  cuda::norm_rows(stream_, hidden_.as<float>(), rows, hidden, norm_at(model, at.mlp_norm), model.element,
                  normed_.data());
  products_.linear(normed_.data(), model.at(at.gate_up), nullptr, model.element, count, config.hidden_size,
                   2 * config.intermediate_size, gate_up_.data(), model.element, false, stream_);
  const cuda::Gate gate = config.activation == Activation::silu ? cuda::Gate::silu : cuda::Gate::gelu_tanh;
  cuda::gate_rows(stream_, gate_up_.data(), bias_at(model, at.gate_up_bias), rows, inner, gate, model.element,
                  wide_.data());
  float* to = config.branch_norms ? branch_.as<float>() : hidden_.as<float>();
  products_.linear(wide_.data(), model.at(at.down), nullptr, model.element, count, config.intermediate_size,
                   config.hidden_size, to, cuda::Element::f32, !config.branch_norms, stream_);
  if (at.down_bias != kAbsent) cuda::add_bias_rows(stream_, model.at(at.down_bias), rows, hidden, model.element, to);
  if (config.branch_norms) {
    cuda::add_normed_rows(stream_, to, rows, hidden, norm_at(model, at.mlp_branch_norm), model.element,
                          hidden_.as<float>());
  }
}

void CudaStep::layers(const CudaView& model, std::int64_t count, Pass pass) {
  const ModelConfig& config = model.config;
  cuda::embed_rows(stream_, rows_.as<cuda::StepRow>(), narrow(count), model.at(model.layout.embedding), model.element,
                   narrow(config.hidden_size), embedding_scale(config), hidden_.as<float>());
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    attention_branch(model, layer, count, pass);
    mlp_branch(model, layer, count);
  }
}

// logits f32[count, vocabulary] after the rows that `gather` names, or the first ones.
void CudaStep::head(const CudaView& model, const std::int32_t* gather, std::int64_t count) {
  const ModelConfig& config = model.config;
  cuda::norm_gathered_rows(stream_, hidden_.as<float>(), gather, narrow(count), narrow(config.hidden_size),
                           norm_at(model, model.layout.final_norm), model.element, normed_.data());
  products_.linear(normed_.data(), model.at(model.layout.head), nullptr, model.element, count, config.hidden_size,
                   config.vocab_size, logits_.data(), cuda::Element::f32, false, stream_);
}

// Parts of the draws from the logits.
void CudaStep::draw(const CudaView& model, const cuda::Draw* draws, std::int64_t count) {
  const int vocabulary = narrow(model.config.vocab_size);
  const auto* settings = sampler_.as<cuda::SamplerSettings>();
  float* floors = truncated_ ? floors_.as<float>() : nullptr;
  if (floors) cuda::sampling_floors(stream_, draws, narrow(count), logits_.as<float>(), vocabulary, settings, floors);
  cuda::draw_parts(stream_, draws, narrow(count), logits_.as<float>(), vocabulary, settings, floors,
                   parts_.as<cuda::DrawPart>());
}

std::span<const cuda::Drawn> CudaStep::read(const CudaView& model, std::span<const cuda::StepRow> rows,
                                            std::span<const std::int32_t> last, std::span<const cuda::Draw> draws) {
  const auto count = static_cast<std::int64_t>(rows.size());
  RLFLOW_CHECK(count <= row_capacity_ && static_cast<std::int64_t>(last.size()) <= kReadRows, "too many rows");
  change_pages();
  cuda::copy(rows_.data(), rows.data(), static_cast<std::int64_t>(rows.size_bytes()), stream_);
  layers(model, count, Pass::read);
  returned_.reserve(static_cast<std::int64_t>(draws.size() * sizeof(cuda::Drawn)));
  auto* returned = returned_.as<cuda::Drawn>();
  if (!draws.empty()) {
    cuda::copy(last_.data(), last.data(), static_cast<std::int64_t>(last.size_bytes()), stream_);
    reserve_draws(model, kLogitRows, static_cast<std::int64_t>(draws.size()));
  }
  const int tiles = cuda::draw_tiles(narrow(model.config.vocab_size));
  std::vector<cuda::Draw> part;
  for (std::size_t begin = 0, at = 0; at < draws.size(); begin += kLogitRows) {
    const std::size_t end = std::min(last.size(), begin + kLogitRows);
    part.clear();
    const std::size_t first = at;
    for (; at < draws.size() && draws[at].row < static_cast<std::int32_t>(end); ++at) {
      part.push_back(draws[at]);
      part.back().row -= static_cast<std::int32_t>(begin);
    }
    const auto drawing = static_cast<std::int64_t>(part.size());
    head(model, last_.as<std::int32_t>() + begin, static_cast<std::int64_t>(end - begin));
    if (part.empty()) continue;
    cuda::copy(draws_.data(), part.data(), drawing * static_cast<std::int64_t>(sizeof(cuda::Draw)), stream_);
    draw(model, draws_.as<cuda::Draw>(), drawing);
    cuda::combine_parts(stream_, draws_.as<cuda::Draw>(), narrow(drawing), parts_.as<cuda::DrawPart>(), tiles,
                        sampler_.as<cuda::SamplerSettings>(), drawn_.as<cuda::Drawn>());
    cuda::copy(returned + first, drawn_.data(), drawing * static_cast<std::int64_t>(sizeof(cuda::Drawn)), stream_);
  }
  stream_.synchronize();
  return {returned, draws.size()};
}

std::vector<const void*> CudaStep::captured(const CudaView& model) const {
  std::vector<const void*> all = {model.weights, model.full.cos, model.local.cos, truncated_ ? this : nullptr};
  for (const cuda::DeviceBuffer* buffer :
       {&rows_, &hidden_, &normed_, &projections_, &attended_, &branch_, &gate_up_, &wide_, &draws_, &logits_, &floors_,
        &parts_, &drawn_, &produced_, &sampler_, &tables_, &kv_, &squares_}) {
    all.push_back(buffer->data());
  }
  for (std::int64_t size : {sizes_.pages, sizes_.table_pages}) all.push_back(kv_.as<char>() + size);
  return all;
}

// Beyond it the ordinary products are faster: a step of 0.5B took 1.52 ms for 32 rows here and 1.27 ms for 64 there.
constexpr std::int64_t kMostFusedRows = 16;
static_assert(kMostFusedRows <= cuda::kMostFewRows);

// Whether the kernels of nodes/cuda/decode_linear.h compute a step of this model.
bool CudaStep::few_rows_serve(const CudaView& model, std::int64_t count) const {
  const ModelConfig& config = model.config;
  if (count > kMostFusedRows || model.element != cuda::Element::bf16 || config.branch_norms ||
      !cuda::attend_pages_serves(paged_shape(config, 0), model.element)) {
    return false;
  }
  const auto serve = [&](std::int64_t offset, std::int64_t outputs, std::int64_t inputs) {
    return cuda::few_rows_serve(model.at(offset), count, outputs, inputs);
  };
  bool all = serve(model.layout.embedding, config.vocab_size, config.hidden_size) &&
             serve(model.layout.head, config.vocab_size, config.hidden_size) && config.intermediate_size % 16 == 0;
  for (const LayerOffsets& at : model.layout.layers) {
    all = all && serve(at.query_key_value, projection_width(config), config.hidden_size) &&
          serve(at.output, config.hidden_size, config.query_size()) &&
          serve(at.gate_up, config.intermediate_size, config.hidden_size) &&
          serve(at.down, config.hidden_size, config.intermediate_size);
  }
  return all;
}

void CudaStep::few_layers(const CudaView& model, std::int64_t count) {
  const ModelConfig& config = model.config;
  const int rows = narrow(count), hidden = narrow(config.hidden_size), inner = narrow(config.intermediate_size);
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const cuda::Weighted stream{normed_.data(), squares_.as<float>()};
  const cuda::Gate gate = config.activation == Activation::silu ? cuda::Gate::silu : cuda::Gate::gelu_tanh;
  cuda::embed_weighted_rows(stream_, rows_.as<cuda::StepRow>(), rows, model.at(model.layout.embedding), hidden,
                            embedding_scale(config), next_norm(model, offsets_of(model, 0).attention_norm),
                            hidden_.as<float>(), stream);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const LayerOffsets& at = offsets_of(model, layer);
    const std::int64_t next =
        layer + 1 < config.layers ? offsets_of(model, layer + 1).attention_norm : model.layout.final_norm;
    cuda::project_few_rows(stream_, stream, rows, eps, model.at(at.query_key_value), narrow(projection_width(config)),
                           hidden, projections_.as<float>());
    attend(model, layer, count, Pass::decode);
    cuda::add_few_rows(stream_, attended_.data(), rows, model.at(at.output), bias_at(model, at.output_bias), hidden,
                       narrow(config.query_size()), next_norm(model, at.mlp_norm), hidden_.as<float>(), stream);
    cuda::gate_few_rows(stream_, stream, rows, eps, model.at(at.gate_up), bias_at(model, at.gate_up_bias), inner,
                        hidden, gate, wide_.data());
    cuda::add_few_rows(stream_, wide_.data(), rows, model.at(at.down), bias_at(model, at.down_bias), hidden, inner,
                       next_norm(model, next), hidden_.as<float>(), stream);
  }
}

void CudaStep::enqueue_step(const CudaView& model, std::int64_t bucket) {
  const int vocabulary = narrow(model.config.vocab_size);
  int tiles = cuda::draw_tiles(vocabulary);
  const bool few = few_rows_serve(model, bucket);
  few ? few_layers(model, bucket) : layers(model, bucket, Pass::decode);
  if (few && !truncated_) {
    tiles = cuda::head_tiles(vocabulary);
    cuda::draw_few_rows(stream_, {normed_.data(), squares_.as<float>()}, narrow(bucket),
                        static_cast<float>(model.config.rms_norm_eps), model.at(model.layout.head), vocabulary,
                        narrow(model.config.hidden_size), draws_.as<cuda::Draw>(), sampler_.as<cuda::SamplerSettings>(),
                        parts_.as<cuda::DrawPart>());
  } else {
    head(model, nullptr, bucket);
    draw(model, draws_.as<cuda::Draw>(), bucket);
  }
  cuda::combine_and_advance(stream_, narrow(bucket), parts_.as<cuda::DrawPart>(), tiles,
                            sampler_.as<cuda::SamplerSettings>(),
                            {rows_.as<cuda::StepRow>(), draws_.as<cuda::Draw>(), produced_.as<std::int32_t>(),
                             drawn_.as<cuda::Drawn>(), static_cast<int>(kMostSteps)});
}

std::vector<DecodedRow> CudaStep::decode(const CudaView& model, std::span<const cuda::StepRow> rows,
                                         std::span<const cuda::Draw> draws, std::int64_t steps) {
  RLFLOW_CHECK(steps <= kMostSteps && static_cast<std::int64_t>(rows.size()) <= sizes_.slots, "too much to decode");
  change_pages();
  const std::int64_t bucket = bucket_of(static_cast<std::int64_t>(rows.size()));
  const auto all = static_cast<std::size_t>(bucket);
  // Host memory is read by copies until the stream is synchronized below.
  const auto row_bytes = static_cast<std::int64_t>(all * sizeof(cuda::StepRow));
  const auto draw_bytes = static_cast<std::int64_t>(all * sizeof(cuda::Draw));
  staged_.reserve(row_bytes + draw_bytes);
  auto* staged_draws = staged_.as<cuda::Draw>();
  auto* staged_rows = reinterpret_cast<cuda::StepRow*>(staged_draws + all);
  for (std::size_t i = 0; i < all; ++i) {
    staged_rows[i] = i < rows.size() ? rows[i] : cuda::StepRow{0, 0, 0, -1};
    staged_draws[i] = i < rows.size() ? draws[i] : cuda::Draw{-1, 0, 0};
    if (i < rows.size()) staged_draws[i].row = static_cast<std::int32_t>(i);
  }
  cuda::copy(rows_.data(), staged_rows, row_bytes, stream_);
  cuda::copy(draws_.data(), staged_draws, draw_bytes, stream_);
  cuda::fill_bytes(produced_.data(), 0, bucket * 4, stream_);
  if (std::vector<const void*> now = captured(model); now != captured_) {
    graphs_.clear();
    captured_ = std::move(now);
  }
  std::unique_ptr<cuda::Graph>& graph = graphs_[bucket];
  for (std::int64_t step = 0; step < steps; ++step) {
    if (!warmed_[bucket]) {
      enqueue_step(model, bucket);  // loads what a capture must not load
      warmed_[bucket] = true;
      continue;
    }
    if (!graph) graph = std::make_unique<cuda::Graph>(stream_, [&] { enqueue_step(model, bucket); });
    graph->launch(stream_);
  }
  const auto drawn_bytes = static_cast<std::int64_t>(rows.size() * kMostSteps * sizeof(cuda::Drawn));
  returned_.reserve(drawn_bytes + bucket * 4);
  auto* drawn = returned_.as<cuda::Drawn>();
  auto* produced = reinterpret_cast<std::int32_t*>(drawn + rows.size() * kMostSteps);
  cuda::copy(drawn, drawn_.data(), drawn_bytes, stream_);
  cuda::copy(produced, produced_.data(), bucket * 4, stream_);
  stream_.synchronize();
  std::vector<DecodedRow> decoded;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    decoded.push_back({produced[i], {drawn + i * kMostSteps, static_cast<std::size_t>(produced[i])}});
  }
  return decoded;
}

}  // namespace rlflow
