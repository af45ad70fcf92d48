// From logits to the next token of a response, and whether it is the last.
#include "nodes/rollout/next_token.h"

#include <algorithm>
#include <limits>

#include "nodes/model/cpu/kernels.h"

namespace rlflow {
namespace {

// Takes the end tokens out of the choice while it lives.
class WithoutEnd {
 public:
  WithoutEnd(float* z, const std::vector<std::int32_t>& end_ids) : z_(z), ids_(end_ids) {
    for (std::int32_t id : ids_) {
      logits_.push_back(z_[id]);
      z_[id] = -std::numeric_limits<float>::infinity();
    }
  }
  ~WithoutEnd() {
    for (std::size_t i = ids_.size(); i-- > 0;) z_[ids_[i]] = logits_[i];
  }
  WithoutEnd(const WithoutEnd&) = delete;
  WithoutEnd& operator=(const WithoutEnd&) = delete;

 private:
  float* z_;
  const std::vector<std::int32_t>& ids_;
  std::vector<float> logits_;
};

float inverse_of(double temperature) {
  return temperature == 0 ? 1.0f : static_cast<float>(1.0 / std::max(temperature, 1e-8));
}

}  // namespace

NextToken::NextToken(const GenerationSettings& settings, const ModelConfig& config, float* z,
                     std::vector<float>& scratch)
    : settings_(settings),
      config_(config),
      z_(z),
      scratch_(scratch),
      inverse_temperature_(inverse_of(settings.sampling.temperature)),
      softmax_(cpu::kernels().softmax(z, config.vocab_size, inverse_temperature_)) {}

std::int32_t NextToken::choose(std::uint64_t key, std::uint32_t position) {
  const SamplingSettings& sampling = settings_.sampling;
  const std::int64_t vocabulary = config_.vocab_size;
  if (sampling.temperature == 0) return cpu::kernels().likeliest_token(z_, vocabulary);
  const cpu::Truncation truncation{sampling.top_k, sampling.top_p, sampling.min_p};
  float floor = -std::numeric_limits<float>::infinity();
  if (truncation.top_k > 0 || truncation.top_p < 1 || truncation.min_p > 0) {
    if (scratch_.size() < static_cast<std::size_t>(vocabulary)) scratch_.resize(static_cast<std::size_t>(vocabulary));
    floor = cpu::kernels().sampling_floor(z_, vocabulary, inverse_temperature_, truncation, scratch_.data());
  }
  return cpu::kernels().sample_token(z_, vocabulary, inverse_temperature_, floor, key, position);
}

bool NextToken::extend(std::uint64_t key, Response& response) {
  const SamplingSettings& sampling = settings_.sampling;
  const auto position = static_cast<std::uint32_t>(response.tokens.size());
  std::int32_t token = 0;
  if (position < sampling.min_new) {
    const WithoutEnd without(z_, config_.end_ids);
    token = choose(key, position);
  } else {
    token = choose(key, position);
  }
  response.tokens.push_back(token);
  response.logprob.push_back(softmax_.logprob(z_[token], inverse_temperature_));
  return goes_on(settings_, config_, response);
}

bool goes_on(const GenerationSettings& settings, const ModelConfig& config, Response& response) {
  const SamplingSettings& sampling = settings.sampling;
  const std::int32_t token = response.tokens.back();
  const auto length = static_cast<std::int64_t>(response.tokens.size());
  if (std::find(config.end_ids.begin(), config.end_ids.end(), token) != config.end_ids.end()) {
    response.finish = FinishReason::end;
    return false;
  }
  if (settings.stop_texts && length >= sampling.min_new && settings.stop_texts->completed_by_last(response.tokens)) {
    response.finish = FinishReason::stop;
    return false;
  }
  response.finish = FinishReason::length;
  return length < sampling.max_new;
}

}  // namespace rlflow
