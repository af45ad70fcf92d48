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

std::int32_t choose(const SamplingSettings& sampling, std::int64_t vocabulary, float inverse, std::uint64_t key,
                    std::uint32_t position, float* z, std::vector<float>& scratch) {
  if (sampling.temperature == 0) return cpu::kernels().likeliest_token(z, vocabulary);
  const cpu::Truncation truncation{sampling.top_k, sampling.top_p, sampling.min_p};
  float floor = -std::numeric_limits<float>::infinity();
  if (truncation.top_k > 0 || truncation.top_p < 1 || truncation.min_p > 0) {
    if (scratch.size() < static_cast<std::size_t>(vocabulary)) scratch.resize(static_cast<std::size_t>(vocabulary));
    floor = cpu::kernels().sampling_floor(z, vocabulary, inverse, truncation, scratch.data());
  }
  return cpu::kernels().sample_token(z, vocabulary, inverse, floor, key, position);
}

}  // namespace

bool extend_response(const GenerationSettings& settings, const ModelConfig& config, std::uint64_t key, float* z,
                     std::vector<float>& scratch, Response& response) {
  const SamplingSettings& sampling = settings.sampling;
  const bool greedy = sampling.temperature == 0;
  const float inverse = greedy ? 1.0f : static_cast<float>(1.0 / std::max(sampling.temperature, 1e-8));
  const auto position = static_cast<std::uint32_t>(response.tokens.size());
  std::int32_t token = 0;
  if (position < sampling.min_new) {
    const WithoutEnd without(z, config.end_ids);
    token = choose(sampling, config.vocab_size, inverse, key, position, z, scratch);
  } else {
    token = choose(sampling, config.vocab_size, inverse, key, position, z, scratch);
  }
  response.tokens.push_back(token);
  response.logprob.push_back(cpu::kernels().token_logprob(z, config.vocab_size, inverse, token).logprob);
  return goes_on(settings, config, response);
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
