// How fast are the products of a linear layer beside libtorch's, and what do whole passes and decoding reach?
//
// products THREADS=1: for the shapes of a layer, GFLOP/s of ours and of at::mm, both on one thread, in turn; one JSON
// line each. passes SHAPE THREADS: tokens/s of a packed forward and backward pass and of decoding at batch 1, 8 and 32
// with random weights; SHAPE is 62m (a Llama of 62 million parameters) or smollm2 (that of SmolLM2-135M).
#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/linear.h"
#include "nodes/rollout/cpu_generator.h"

namespace {

using namespace rlflow;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The least seconds of one call over about `budget` seconds of calls.
double least_seconds(double budget, const std::function<void()>& call) {
  double least = 1e9;
  for (const double end = now() + budget; now() < end;) {
    const double begin = now();
    call();
    least = std::min(least, now() - begin);
  }
  return least;
}

struct Layer {
  const char* name;
  std::int64_t outputs, inputs;
};

void print_row(const char* kind, const Layer& layer, std::int64_t rows, double ours, double peer) {
  const double work = 2e-9 * static_cast<double>(rows * layer.outputs * layer.inputs);
  std::printf("{\"kind\":\"%s\",\"layer\":\"%s\",\"rows\":%ld,\"ours\":%.1f,\"libtorch\":%.1f}\n", kind, layer.name,
              static_cast<long>(rows), work / ours, work / peer);
  std::fflush(stdout);
}

void products(double budget) {
  at::set_num_threads(1);
  const Layer layers[] = {{"qkv 960x576", 960, 576},
                          {"gate_up 3072x576", 3072, 576},
                          {"down 576x1536", 576, 1536},
                          {"qkv 1024x512", 1024, 512},
                          {"head 49152x576", 49152, 576}};
  for (const Layer& layer : layers) {
    const at::Tensor w = at::randn({layer.outputs, layer.inputs});
    const at::Tensor panels = at::randn({cpu::padded(layer.outputs) * layer.inputs});
    for (std::int64_t rows : {1, 8, 32, 256, 512, 2048}) {
      if (layer.outputs > 10'000 && rows > 256) continue;  // the head is computed in blocks
      const at::Tensor x = at::randn({rows, layer.inputs}), dy = at::randn({rows, layer.outputs});
      at::Tensor y = at::randn({rows, layer.outputs}), dx = at::randn({rows, layer.inputs});
      at::Tensor dw = at::randn({layer.outputs, layer.inputs});
      const cpu::Product forward{rows,           layer.outputs, layer.inputs,
                                 floats(x),      layer.inputs,  1,
                                 floats(panels), cpu::kLanes,   cpu::kLanes * layer.inputs,
                                 true,           floats(y),     layer.outputs,
                                 false};
      double ours = least_seconds(budget, [&] { cpu::kernels().product(forward); });
      double peer = least_seconds(budget, [&] { at::mm_out(y, x, w.t()); });
      print_row("forward", layer, rows, ours, peer);
      if (rows < 256) continue;
      ours = least_seconds(budget, [&] {
        linear_input_gradient(floats(w), layer.outputs, layer.inputs, floats(dy), rows, floats(dx), false, 1);
      });
      peer = least_seconds(budget, [&] { at::mm_out(dx, dy, w); });
      print_row("input gradient", layer, rows, ours, peer);
      ours = least_seconds(budget, [&] {
        linear_weight_gradient(floats(dy), layer.outputs, floats(x), layer.inputs, rows, floats(dw), 1);
      });
      peer = least_seconds(budget, [&] { at::mm_out(dw, dy.t(), x); });
      print_row("weight gradient", layer, rows, ours, peer);
    }
  }
}

const char* config_of(const std::string& shape) {
  if (shape == "smollm2") {
    return R"({"model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536,
      "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 2048,
      "tie_word_embeddings": true, "rope_theta": 100000.0, "rms_norm_eps": 1e-5, "eos_token_id": 2})";
  }
  return R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": 512, "intermediate_size": 1536,
    "num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 2048,
    "tie_word_embeddings": false, "eos_token_id": 2})";
}

std::unique_ptr<CpuModel> random_model(const std::string& shape, std::int32_t threads) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("rlflow_products_" + shape);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config_of(shape);
  auto model = CpuModel::draw(folder, 1, threads);
  std::filesystem::remove_all(folder);
  return model;
}

void packed_pass(const CpuModel& model, const std::string& shape, std::int32_t threads) {
  // A chunk of 512 rows for each thread, in sequences of 128 tokens.
  const std::int64_t sequences = 4 * threads;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences) * 129);
  std::vector<std::int64_t> offsets{0}, all;
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(3 + i * 7919 % 20'000);
  for (std::int64_t i = 0; i < sequences; ++i) {
    offsets.push_back(129 * (i + 1));
    all.push_back(i);
  }
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, kChunkRows);
  CpuPasses passes;
  const auto train = [&] {
    passes.gradient(model.view(), chunks, {1, threads, {}}, [](const ChunkLoss& chunk) {
      for (float& d : chunk.dlogprob) d = 1;
    });
  };
  train();
  const double seconds = least_seconds(10, train);
  const auto count = static_cast<double>(tokens.size());
  const double matrices = static_cast<double>(model.config().layer_matrices()) +
                          static_cast<double>(model.config().vocab_size * model.config().hidden_size);
  std::printf("{\"kind\":\"train\",\"shape\":\"%s\",\"threads\":%d,\"tokens_per_s\":%.0f,\"gflops\":%.1f}\n",
              shape.c_str(), threads, count / seconds, 6e-9 * matrices * count / seconds);
  std::fflush(stdout);
}

void decoding(const CpuModel& model, const std::string& shape, std::int32_t threads) {
  for (std::size_t batch : {1, 8, 32}) {
    std::vector<std::vector<std::int32_t>> prompts;
    for (std::size_t i = 0; i < batch; ++i) prompts.push_back({1, static_cast<std::int32_t>(10 + i), 7, 8});
    const std::vector<std::span<const std::int32_t>> views(prompts.begin(), prompts.end());
    GenerationSettings settings;
    settings.sampling.max_new = 64;
    settings.threads = threads;
    std::vector<Response> responses;
    CpuGenerator generator;
    std::size_t count = 0;
    const double seconds = least_seconds(4, [&] {
      generator.run(model.view(), views, settings, responses);
      count = 0;
      for (const Response& response : responses) count += response.tokens.size();
    });
    std::printf("{\"kind\":\"decode\",\"shape\":\"%s\",\"threads\":%d,\"batch\":%zu,\"tokens_per_s\":%.1f}\n",
                shape.c_str(), threads, batch, static_cast<double>(count) / seconds);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "products") {
    products(argc > 2 ? std::atof(argv[2]) : 0.2);
    return 0;
  }
  if (what == "passes" && argc == 4) {
    const std::int32_t threads = std::atoi(argv[3]);
    const auto model = random_model(argv[2], threads);
    packed_pass(*model, argv[2], threads);
    decoding(*model, argv[2], threads);
    return 0;
  }
  std::fprintf(stderr, "model_products products [SECONDS] | passes 62m|smollm2 THREADS\n");
  return 2;
}
