// The decoding of one lane: some prompts and all of their samples, on one thread.
#include "nodes/rollout/decode_lane.h"

#include <algorithm>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/layer.h"

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
  if (config.branch_norms) grow(branch_, count * config.hidden_size);
  positions_.clear();
  tokens_.clear();
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const std::size_t prompt_length = input.prompts[static_cast<std::size_t>(live_[i].prompt)].size();
    positions_.push_back(static_cast<std::int32_t>(prompt_length) + static_cast<std::int32_t>(length));
    tokens_.push_back(live_[i].token);
  }
  rlflow::embed(model, tokens_, hidden_.data());
}

// Feeds the newest token of every live response; leaves logits_ f32[live, vocabulary].
void DecodeLane::decode(const LaneInput& input, std::int64_t length) {
  const TransformerView& model = input.model;
  const ModelConfig& config = model.config;
  const auto count = static_cast<std::int64_t>(live_.size());
  embed(input, length);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const LayerRows at{.projections = projections_.data(),
                       .attended = attended_.data(),
                       .attention_branch = branch_.data(),
                       .gate_up = gate_up_.data(),
                       .mlp_branch = branch_.data()};
    project(model, i, positions_, hidden_.data(), at, normed_.data());
    attend(input, i, length);
    add_attention(model, i, count, at, normed_.data(), hidden_.data());
    add_mlp(model, i, count, hidden_.data(), at, normed_.data(), wide_.data(), hidden_.data());
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
                               attention_scale(config),
                               nullptr};
      limit_to_window(config, layer, attention);
      grow(scores_, cpu::padded(attention.shared.length) + cpu::padded(attention.own.length));
      attention.scores = scores_.data();
      for (std::int64_t head = kv_head * repeats; head < (kv_head + 1) * repeats; ++head) {
        cpu::kernels().attend(attention, row + head * config.head_dim, out + head * config.head_dim);
      }
    }
  }
}

}  // namespace rlflow
