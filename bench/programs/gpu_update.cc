// How fast are a training step and a log-prob pass of a packed batch on a GPU?
//
// gpu_update SHAPE SEQUENCES LENGTH MICRO RUNS: random bf16 weights of Qwen2.5's SHAPE (0.5b, 1.5b, 7b), SEQUENCES of
// LENGTH predicted tokens each, chunks of MICRO rows. One JSON line for each of `update` (forward, backward, AdamW),
// `logprob` and `phases` (milliseconds of one update by phase; marks cost time, so they are not those of `update`).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/programs/gpu_random_model.h"
#include "nodes/model/chunks.h"
#include "nodes/model/cuda_passes.h"

namespace {

using namespace rlflow;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void print_runs(const char* kind, const std::vector<double>& seconds, double tokens, double flops) {
  std::printf("{\"kind\":\"%s\",\"tokens\":%.0f,\"flops\":%.6g,\"seconds\":[", kind, tokens, flops);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.6f", i > 0 ? "," : "", seconds[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: gpu_update SHAPE SEQUENCES LENGTH MICRO RUNS\n");
    return 2;
  }
  const std::string shape = argv[1];
  const std::int64_t sequences = std::atoll(argv[2]), length = std::atoll(argv[3]), micro = std::atoll(argv[4]);
  const int runs = std::atoi(argv[5]);
  const auto model = bench::random_model(shape, true, 16);
  model->attach_optimizer({.schedule = {.peak = 1e-6}, .decay = 0.01});
  const ModelConfig& config = model->config();

  std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences * (length + 1)));
  std::vector<std::int64_t> offsets{0}, all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(mix64(i + 12345) % static_cast<std::uint64_t>(config.vocab_size));
  }
  for (std::int64_t i = 0; i < sequences; ++i) {
    offsets.push_back((length + 1) * (i + 1));
    all.push_back(i);
  }
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, micro);

  // Multiplications and additions that the mathematics asks for: each matrix once forward, twice backward; of causal
  // attention half of the square.
  const auto count = static_cast<double>(sequences * length);
  const double matrices = static_cast<double>(config.layer_matrices() + config.vocab_size * config.hidden_size);
  const double attended = static_cast<double>(config.layers * config.query_size() * length);
  const double forward_flops = count * (2 * matrices + 2 * attended);

  CudaPasses passes;
  const auto update = [&] {
    const float* gradient = passes.gradient(*model, chunks, {1, 1, {}}, [&](const ChunkLoss& loss) {
      for (float& d : loss.dlogprob) d = static_cast<float>(-1 / count);
    });
    if (!model->apply(gradient).applied) std::abort();
  };
  std::vector<double> seconds;
  update();
  update();
  for (int run = 0; run < runs; ++run) {
    const double begin = now();
    update();
    seconds.push_back(now() - begin);
  }
  print_runs("update", seconds, count, 3 * forward_flops);

  cuda::PhaseTimer timer;
  passes.time_phases(&timer);
  update();
  timer.take();
  update();
  std::printf("{\"kind\":\"phases\"");
  for (const auto& [phase, milliseconds] : timer.take()) std::printf(",\"%s\":%.3f", phase.c_str(), milliseconds);
  std::printf("}\n");
  passes.time_phases(nullptr);

  std::vector<float> logprob(tokens.size());
  seconds.clear();
  passes.logprobs(*model, chunks, {1, 1, {}}, logprob);
  for (int run = 0; run < runs; ++run) {
    const double begin = now();
    passes.logprobs(*model, chunks, {1, 1, {}}, logprob);
    seconds.push_back(now() - begin);
  }
  print_runs("logprob", seconds, count, forward_flops);
  std::printf("{\"kind\":\"memory\",\"peak_bytes\":%lld}\n", static_cast<long long>(cuda::memory_use().peak));
  for (const std::string& choice : passes.product_choices()) std::fprintf(stderr, "%s\n", choice.c_str());
  return 0;
}
