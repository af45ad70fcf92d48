// Tokens a second of decoding on one GPU at a context of about 512, and what bounds it.
//
// usage: gpu_decode CONFIG_JSON RUNS BATCH...
// Weights are bf16 and random, prompts 448 tokens, 128 tokens are timed after the first one of each. Prints one JSON
// object: bandwidths, parameters, bytes of weights and of a token's keys and values that a step reads, and for each
// batch the tokens a second of every run.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/programs/read_memory.h"
#include "nodes/cuda/device.h"
#include "nodes/model/rotary.h"
#include "nodes/rollout/cuda_generator.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

constexpr std::int64_t kPrompt = 448, kNew = 129;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint16_t bf16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// A pattern of a million random numbers, again and again; norms are 1.
cuda::DeviceBuffer random_weights(const ModelConfig& config, const ParameterLayout& layout,
                                  const cuda::Stream& stream) {
  PhiloxStream random(1);
  std::vector<std::uint16_t> pattern(1000003);
  for (std::uint16_t& value : pattern) value = bf16(random.normal() * 0.02);
  cuda::DeviceBuffer weights(layout.size * 2);
  for (std::int64_t at = 0; at < layout.size; at += static_cast<std::int64_t>(pattern.size())) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(pattern.size()), layout.size - at);
    cuda::copy(weights.as<std::uint16_t>() + at, pattern.data(), count * 2, stream);
  }
  const std::vector<std::uint16_t> ones(static_cast<std::size_t>(config.hidden_size), bf16(1));
  for (const ParameterSlot& slot : layout.slots) {
    if (slot.role != ParameterRole::norm) continue;
    cuda::copy(weights.as<std::uint16_t>() + slot.offset, ones.data(), slot.count * 2, stream);
  }
  stream.synchronize();
  return weights;
}

// The best of a few passes, bytes a second.
template <class Pass>
double bandwidth(const cuda::Stream& stream, std::int64_t bytes, const Pass& pass) {
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    cuda::Event begin, end;
    begin.record(stream);
    pass();
    end.record(stream);
    end.synchronize();
    best = std::max(best, static_cast<double>(bytes) / (static_cast<double>(end.milliseconds_since(begin)) * 1e-3));
  }
  return best;
}

double decode_seconds(CudaGenerator& generator, const CudaView& model, std::size_t batch) {
  std::vector<std::vector<std::int32_t>> prompts(batch);
  PhiloxStream random(7);
  for (auto& prompt : prompts) {
    for (std::int64_t i = 0; i < kPrompt; ++i) {
      prompt.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(model.config.vocab_size))));
    }
  }
  const std::vector<std::span<const std::int32_t>> views(prompts.begin(), prompts.end());
  GenerationSettings settings;
  settings.sampling.max_new = settings.sampling.min_new = kNew;
  std::vector<Response> responses;
  double first = 0, last = 0;  // from the first tokens on, prompts are not counted
  std::size_t told = 0;
  settings.extended = [&](std::int64_t, const Response&, bool) {
    if (++told == batch) first = seconds_now();
    if (told == batch * kNew) last = seconds_now();
  };
  generator.run(model, views, settings, responses);
  return last - first;
}

int run(int argc, char** argv) {
  if (argc < 4) return std::fputs("usage: gpu_decode CONFIG_JSON RUNS BATCH...\n", stderr), 2;
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const ModelConfig config = parse_model_config(text.str());
  const int runs = std::atoi(argv[2]);
  cuda::use_device(0);
  const cuda::Stream stream;
  {
    const std::int64_t bytes = std::int64_t{4} << 30;
    const cuda::DeviceBuffer from(bytes), to(bytes);
    cuda::fill_bytes(from.data(), 0x5a, bytes, stream);
    const double read = bandwidth(stream, bytes, [&] { bench::read_memory(stream, from.data(), bytes, to.data()); });
    const double copied = bandwidth(stream, 2 * bytes, [&] { cuda::copy(to.data(), from.data(), bytes, stream); });
    std::printf("{\"gpu\": \"%s\", \"read\": %.5g, \"copy\": %.5g", cuda::device_facts(0).name.c_str(), read, copied);
  }
  const ParameterLayout layout(config);
  const cuda::DeviceBuffer weights = random_weights(config, layout, stream);
  const RotaryTables tables(config);
  const RotaryTable& table = tables.of(false);
  const auto table_bytes = static_cast<std::int64_t>(table.cos.size()) * 4;
  const cuda::DeviceBuffer cosines(table_bytes), sines(table_bytes);
  cuda::copy(cosines.data(), table.cos.data(), table_bytes, stream);
  cuda::copy(sines.data(), table.sin.data(), table_bytes, stream);
  stream.synchronize();
  const CudaRotary rotary{cosines.as<float>(), sines.as<float>()};
  const CudaView model{config, layout, weights.data(), cuda::Element::bf16, rotary, rotary, 0};
  std::printf(", \"parameters\": %lld, \"weight_bytes\": %lld, \"token_bytes\": %lld, \"context\": %lld",
              static_cast<long long>(layout.size),
              static_cast<long long>(2 * (config.layer_matrices() + config.vocab_size * config.hidden_size)),
              static_cast<long long>(config.layers * 2 * config.kv_size() * 2),
              static_cast<long long>(kPrompt + kNew / 2));
  CudaGenerator generator;
  for (int i = 3; i < argc; ++i) {
    const auto batch = static_cast<std::size_t>(std::atoll(argv[i]));
    decode_seconds(generator, model, batch);  // first touch of all buffers, and captures
    std::printf(", \"%zu\": [", batch);
    for (int k = 0; k < runs; ++k) {
      const double seconds = decode_seconds(generator, model, batch);
      std::printf("%s%.6g", k ? ", " : "", static_cast<double>(batch) * static_cast<double>(kNew - 1) / seconds);
    }
    std::printf("]");
    std::fflush(stdout);
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace rlflow

int main(int argc, char** argv) { return rlflow::run(argc, argv); }
