// Tokens a second of decoding on the CPU, and what bounds it.
//
// usage: cpu_decode FOLDER THREADS NEW BATCH...   FOLDER: config.json and tokenizer files; weights where it has some
//        cpu_decode --draw FOLDER OUT             draws weights and writes a whole folder
// Prints one JSON object: for each batch the seconds of NEW tokens a response after prompts of 16 tokens, and bytes a
// second that the same threads read from memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "nodes/model/cpu_model.h"
#include "nodes/model/lanes.h"
#include "nodes/rollout/cpu_generator.h"

namespace rlflow {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The best of a few passes over memory that no cache holds.
// Each thread reads four streams from huge pages: more than one stream or small pages give.
double read_bandwidth(std::int32_t threads) {
  constexpr std::size_t kFloats = std::size_t{128} << 20, kStreams = 4;
  const at::Tensor memory = make_floats(kFloats);
  std::fill_n(floats(memory), kFloats, 1.0f);
  std::vector<double> sums(static_cast<std::size_t>(threads));
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    const double begin = seconds_now();
    run_lanes(threads, threads, [&](std::int64_t i) {
      const std::size_t part = kFloats / static_cast<std::size_t>(threads);
      const std::size_t stream = part / kStreams;
      const float* at = floats(memory) + static_cast<std::size_t>(i) * part;
      float lanes[kStreams][16] = {};
      for (std::size_t j = 0; j + 16 <= stream; j += 16) {
        for (std::size_t k = 0; k < kStreams; ++k) {
          for (std::size_t l = 0; l < 16; ++l) lanes[k][l] += at[k * stream + j + l];
        }
      }
      for (const auto& lane : lanes) sums[static_cast<std::size_t>(i)] += static_cast<double>(lane[0]);
    });
    best = std::max(best, static_cast<double>(kFloats * sizeof(float)) / (seconds_now() - begin));
  }
  if (sums[0] <= 0) std::abort();  // so that nothing is optimised away
  return best;
}

double decode_seconds(const CpuModel& model, std::int32_t threads, std::int64_t new_tokens, std::size_t batch) {
  std::vector<std::vector<std::int32_t>> prompts(batch);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::int32_t t = 0; t < 16; ++t) prompts[i].push_back(100 + t + 16 * static_cast<std::int32_t>(i));
  }
  const std::vector<std::span<const std::int32_t>> views(prompts.begin(), prompts.end());
  GenerationSettings settings;
  settings.threads = threads;
  settings.sampling.max_new = settings.sampling.min_new = new_tokens;
  CpuGenerator generator;
  std::vector<Response> responses;
  double first = 0, last = 0;  // from the first tokens on, prompts are not counted
  std::size_t told = 0;
  settings.extended = [&](std::int64_t, const Response&, bool) {
    if (++told == batch) first = seconds_now();
    last = seconds_now();
  };
  generator.run(model.view(), views, settings, responses);
  return last - first;
}

int run(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--draw") {
    std::filesystem::create_directories(argv[3]);
    CpuModel::draw(argv[2], 1, 2)->export_folder(argv[3]);
    return 0;
  }
  if (argc < 5) return std::fputs("usage: cpu_decode FOLDER THREADS NEW BATCH...\n", stderr), 2;
  const std::int32_t threads = std::atoi(argv[2]);
  const std::int64_t new_tokens = std::atoll(argv[3]);
  const auto model = CpuModel::load_folder(argv[1], threads);
  std::printf("{\"parameters\": %lld, \"bandwidth\": %.4g", static_cast<long long>(model->layout().size),
              read_bandwidth(threads));
  for (int i = 4; i < argc; ++i) {
    const auto batch = static_cast<std::size_t>(std::atoll(argv[i]));
    decode_seconds(*model, threads, 2, batch);  // first touch of all buffers
    const double seconds = decode_seconds(*model, threads, new_tokens, batch);
    std::printf(", \"%zu\": %.6g", batch, static_cast<double>(batch) * static_cast<double>(new_tokens - 1) / seconds);
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace rlflow

int main(int argc, char** argv) { return rlflow::run(argc, argv); }
