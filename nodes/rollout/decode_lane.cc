// The decoding of one lane: some prompts and all of their samples, on one thread.
#include "nodes/rollout/decode_lane.h"

#include <algorithm>
#include <cmath>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/linear.h"

namespace rlflow {
namespace {

constexpr std::int64_t kPrefillRows = 512;

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
}

}  // namespace

bool DecodeLane::run(const LaneInput& input, std::span<Response> responses, const Finished& finished) {
  const ModelConfig& config = input.model.config;
  const GenerationSettings& settings = input.settings;
  std::vector<std::int64_t> lengths;
  for (std::span<const std::int32_t> prompt : input.prompts)
    lengths.push_back(static_cast<std::int64_t>(prompt.size()));
  cache_.reserve(config, lengths, static_cast<std::int64_t>(responses.size()), settings.max_new);
  grow(logits_, static_cast<std::int64_t>(responses.size()) * config.vocab_size);

  live_.clear();
  for (std::size_t slot = 0; slot < responses.size(); ++slot) {
    const auto prompt = static_cast<std::int64_t>(slot) / settings.samples;
    const std::uint64_t sample = slot % static_cast<std::uint64_t>(settings.samples);
    live_.push_back({static_cast<std::int64_t>(slot), prompt,
                     h64(settings.purpose, {settings.run_seed, settings.step,
                                            static_cast<std::uint64_t>(input.first_prompt + prompt), sample}),
                     0});
  }
  prefill(input);
  for (std::int64_t length = 0; !live_.empty(); ++length) {
    if (settings.stop.stop_requested()) return false;
    if (length > 0) decode(input, length - 1);
    std::size_t kept = 0;
    ended_.clear();
    for (std::size_t i = 0; i < live_.size(); ++i) {
      // Before the first token all samples of a prompt share its logits.
      const std::int64_t row = length == 0 ? live_[i].prompt : static_cast<std::int64_t>(i);
      if (extend(input, i, logits_.data() + row * config.vocab_size, responses)) {
        live_[kept++] = live_[i];
      } else {
        ended_.push_back(live_[i].slot);
      }
    }
    live_.resize(kept);
    if (!ended_.empty()) finished(ended_);
  }
  return true;
}

// Reads the prompts, leaves their keys and values in the cache and the logits after each in logits_.
void DecodeLane::prefill(const LaneInput& input) {
  const ModelConfig& config = input.model.config;
  std::vector<float> last, normed;
  std::size_t next = 0;
  while (next < input.prompts.size()) {
    rows_.clear();
    const std::size_t first = next;
    do rows_.add(input.prompts[next++]);
    while (next < input.prompts.size() &&
           rows_.size() + static_cast<std::int64_t>(input.prompts[next].size()) <= kPrefillRows);
    forward(input.model, rows_, prefill_);
    for (std::size_t prompt = first; prompt < next; ++prompt) {
      const Segment& segment = rows_.segments[prompt - first];
      for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        cache_.store_prompt(config, layer, static_cast<std::int64_t>(prompt), prefill_.layer(layer).projections,
                            segment);
      }
      const float* row = prefill_.output() + (segment.begin + segment.length - 1) * config.hidden_size;
      last.insert(last.end(), row, row + config.hidden_size);
    }
  }
  normed.resize(last.size());
  logits(input.model, last.data(), static_cast<std::int64_t>(input.prompts.size()), normed.data(), nullptr,
         logits_.data());
}

bool DecodeLane::extend(const LaneInput& input, std::size_t i, const float* z, std::span<Response> responses) {
  const ModelConfig& config = input.model.config;
  const GenerationSettings& settings = input.settings;
  Live& live = live_[i];
  Response& response = responses[static_cast<std::size_t>(live.slot)];
  const bool greedy = settings.temperature == 0;
  const float inverse = greedy ? 1.0f : static_cast<float>(1.0 / std::max(settings.temperature, 1e-8));
  const auto position = static_cast<std::uint32_t>(response.tokens.size());
  live.token = greedy ? cpu::kernels().likeliest_token(z, config.vocab_size)
                      : cpu::kernels().sample_token(z, config.vocab_size, inverse, live.key, position);
  response.tokens.push_back(live.token);
  response.logprob.push_back(cpu::kernels().token_logprob(z, config.vocab_size, inverse, live.token).logprob);
  response.ended = std::find(config.end_ids.begin(), config.end_ids.end(), live.token) != config.end_ids.end();
  return !response.ended && static_cast<std::int64_t>(response.tokens.size()) < settings.max_new;
}

// Embeds the newest token of every live response, which stands at `length` of it.
void DecodeLane::embed(const LaneInput& input, std::int64_t length) {
  const TransformerView& model = input.model;
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(live_.size());
  for (auto [buffer, width] :
       {std::pair(&hidden_, config.hidden_size), std::pair(&normed_, config.hidden_size),
        std::pair(&projections_, ProjectionColumns(config).width), std::pair(&attended_, config.query_size()),
        std::pair(&gate_up_, 2 * config.intermediate_size), std::pair(&wide_, config.intermediate_size)}) {
    grow(*buffer, count * width);
  }
  positions_.clear();
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const std::size_t prompt_length = input.prompts[static_cast<std::size_t>(live_[i].prompt)].size();
    positions_.push_back(static_cast<std::int32_t>(prompt_length) + static_cast<std::int32_t>(length));
    std::copy_n(model.parameters + model.layout.embedding + live_[i].token * config.hidden_size, config.hidden_size,
                hidden_.data() + static_cast<std::int64_t>(i) * config.hidden_size);
  }
}

// Feeds the newest token of every live response; leaves logits_ f32[live, vocabulary].
void DecodeLane::decode(const LaneInput& input, std::int64_t length) {
  const TransformerView& model = input.model;
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(live_.size());
  const auto eps = static_cast<float>(config.rms_norm_eps);
  embed(input, length);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const LayerOffsets& offsets = model.layout.layers[static_cast<std::size_t>(i)];
    const ForwardPanels::Layer& panels = model.panels.layer(i);
    cpu::kernels().rms_norm(hidden_.data(), model.parameters + offsets.attention_norm, count, config.hidden_size, eps,
                            normed_.data(), nullptr);
    linear(model.panels, panels.query_key_value, normed_.data(), count, projections_.data(), false);
    cpu::kernels().rope(projections_.data(), ProjectionColumns(config).width, positions_.data(), count,
                        config.heads + config.kv_heads, config.head_dim, model.rotary.cos.data(),
                        model.rotary.sin.data(), 1.0f);
    attend(input, i, length);
    linear(model.panels, panels.output, attended_.data(), count, hidden_.data(), true);
    cpu::kernels().rms_norm(hidden_.data(), model.parameters + offsets.mlp_norm, count, config.hidden_size, eps,
                            normed_.data(), nullptr);
    linear(model.panels, panels.gate_up, normed_.data(), count, gate_up_.data(), false);
    cpu::kernels().swiglu(gate_up_.data(), count, config.intermediate_size, wide_.data());
    linear(model.panels, panels.down, wide_.data(), count, hidden_.data(), true);
  }
  logits(model, hidden_.data(), count, normed_.data(), nullptr, logits_.data());
}

void DecodeLane::attend(const LaneInput& input, std::int64_t layer, std::int64_t length) {
  const ModelConfig& config = input.model.config;
  const std::int64_t projected = ProjectionColumns(config).width, repeats = config.heads / config.kv_heads;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const float* row = projections_.data() + static_cast<std::int64_t>(i) * projected;
    float* out = attended_.data() + static_cast<std::int64_t>(i) * config.query_size();
    cache_.append(config, layer, live_[i].slot, length, row);
    for (std::int64_t kv_head = 0; kv_head < config.kv_heads; ++kv_head) {
      cpu::Attention attention{cache_.prompt(config, layer, kv_head, live_[i].prompt),
                               cache_.response(config, layer, kv_head, live_[i].slot),
                               length + 1,
                               config.head_dim,
                               1.0f / std::sqrt(static_cast<float>(config.head_dim)),
                               nullptr};
      grow(scores_, cpu::padded(attention.shared.length) + cpu::padded(attention.own.length));
      attention.scores = scores_.data();
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        cpu::kernels().attend(attention, row + head * config.head_dim, out + head * config.head_dim);
      }
    }
  }
}

}  // namespace rlflow
