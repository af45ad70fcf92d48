// Does generation on the GPU sample what generation on the CPU samples, and the same bits each time?
#include <gtest/gtest.h>

#include <cmath>

#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/rollout/cpu_generator.h"
#include "nodes/rollout/cuda_generator.h"
#include "tests/nodes/cuda/family_twins.h"
#include "tests/nodes/model/packed_responses.h"

namespace rlflow {
namespace {

using testing::Family;
using testing::Twins;
using testing::TwinSizes;
using Tokens = std::vector<std::int32_t>;

// Prompts of 1 to 60 tokens, the last equal to the first.
std::vector<Tokens> prompts(std::size_t count, std::int64_t vocabulary) {
  PhiloxStream stream(5);
  std::vector<Tokens> result(count);
  for (Tokens& prompt : result) {
    for (std::uint64_t length = 1 + stream.below(60); length > 0; --length) {
      prompt.push_back(static_cast<std::int32_t>(8 + stream.below(static_cast<std::uint64_t>(vocabulary - 8))));
    }
  }
  result.back() = result.front();
  return result;
}

struct Generated {
  std::vector<Response> responses;
  GenerationReport report;
};

Generated on_gpu(const LanguageModel& model, const std::vector<Tokens>& asked, const GenerationSettings& settings) {
  const std::vector<std::span<const std::int32_t>> views(asked.begin(), asked.end());
  Generated result;
  CudaGenerator generator;
  EXPECT_TRUE(generator.run(model, views, settings, result.responses));
  result.report = generator.report();
  return result;
}

std::vector<Response> on_cpu(const TransformerView& model, const std::vector<Tokens>& asked,
                             const GenerationSettings& settings) {
  const std::vector<std::span<const std::int32_t>> views(asked.begin(), asked.end());
  std::vector<Response> responses;
  CpuGenerator generator;
  EXPECT_TRUE(generator.run(model, views, settings, responses));
  return responses;
}

GenerationSettings settings_for(std::int64_t samples, std::int64_t max_new) {
  GenerationSettings settings;
  settings.samples = samples;
  settings.sampling.max_new = max_new;
  return settings;
}

void expect_close(const std::vector<Response>& a, const std::vector<Response>& b, float bound) {
  ASSERT_EQ(a.size(), b.size());
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].tokens, b[i].tokens) << i;
    ASSERT_EQ(a[i].finish, b[i].finish) << i;
    for (std::size_t t = 0; t < a[i].logprob.size(); ++t) {
      ASSERT_NEAR(a[i].logprob[t], b[i].logprob[t], bound) << i << " " << t;
      worst = std::max(worst, std::fabs(a[i].logprob[t] - b[i].logprob[t]));
    }
  }
  std::printf("largest difference of log-probabilities %.2g\n", static_cast<double>(worst));
}

void expect_same_bits(const std::vector<Response>& a, const std::vector<Response>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].tokens, b[i].tokens) << i;
    ASSERT_EQ(a[i].logprob, b[i].logprob) << i;
    ASSERT_EQ(a[i].finish, b[i].finish) << i;
  }
}

class CudaGeneration : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override { RLFLOW_NEEDS_GPU(); }
};
INSTANTIATE_TEST_SUITE_P(Families, CudaGeneration, ::testing::ValuesIn(testing::families()),
                         [](const auto& each) { return each.param.name; });

// Sampled, three of each prompt, with fewer slots than responses.
TEST_P(CudaGeneration, TokensEqualThoseOfTheCpuAndLogprobsWithin1em5) {
  const Twins twins(GetParam(), cuda::Element::f32);
  const auto asked = prompts(13, twins.config().vocab_size);
  GenerationSettings settings = settings_for(3, 40);
  settings.sampling.temperature = 0.8;
  settings.sampling.min_new = 2;
  settings.slots = 16;
  const Generated gpu = on_gpu(twins.on_gpu(), asked, settings);
  expect_close(gpu.responses, on_cpu(twins.on_cpu(), asked, settings), 1e-5f);
}

TEST_P(CudaGeneration, GreedyTokensEqualThoseOfTheCpu) {
  const Twins twins(GetParam(), cuda::Element::f32);
  const auto asked = prompts(16, twins.config().vocab_size);
  GenerationSettings settings = settings_for(1, 64);
  settings.sampling.temperature = 0;
  settings.sampling.min_new = 64;
  const std::vector<Response> cpu = on_cpu(twins.on_cpu(), asked, settings);
  expect_close(on_gpu(twins.on_gpu(), asked, settings).responses, cpu, 1e-5f);
  expect_close(on_gpu(twins.on_gpu(), {asked[3]}, settings).responses, {cpu[3]}, 1e-5f);
}

// In bf16 against f32 passes over equal weights: what rounding of activations to 8 bits does.
TEST_P(CudaGeneration, LogprobsInBf16AreNearThoseOfF32PassesOverTheSameTokens) {
  for (const TwinSizes& sizes :
       {TwinSizes{}, TwinSizes{64, 128, 192, 1008, 14, 2}, TwinSizes{128, 256, 320, 512, 4, 1}}) {
    const Twins twins(GetParam(), cuda::Element::bf16, sizes);
    const auto asked = prompts(9, twins.config().vocab_size);
    const std::int64_t samples = 3;
    GenerationSettings settings = settings_for(samples, 40);
    settings.sampling.temperature = 0.9;
    const Generated gpu = on_gpu(twins.on_gpu(), asked, settings);
    const testing::PackedResponses packed(asked, gpu.responses, samples);
    CpuPasses passes;
    std::vector<float> logprob(packed.tokens.size());
    passes.logprobs(twins.on_cpu(), packed.chunks(400), {static_cast<float>(1 / 0.9), 1, {}}, logprob);
    double total = 0, worst = 0;
    for (std::size_t i = 0; i < logprob.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(logprob[i]) - static_cast<double>(packed.sampled[i]));
      total += difference;
      worst = std::max(worst, difference);
    }
    std::printf("bf16, head_dim %lld: mean difference %.3g, largest %.3g\n", static_cast<long long>(sizes.head_dim),
                total / static_cast<double>(logprob.size()), worst);
    EXPECT_LT(total / static_cast<double>(logprob.size()), 0.02);
    EXPECT_LT(worst, 0.25);
  }
}

// The same tokens whatever the slots and the budget, in f32, where rounding hardly ever decides a draw.
TEST_P(CudaGeneration, SlotsAndBudgetChangeNoTokenInF32) {
  const Twins twins(GetParam(), cuda::Element::f32);
  const auto asked = prompts(11, twins.config().vocab_size);
  GenerationSettings settings = settings_for(4, 50);
  const Generated plain = on_gpu(twins.on_gpu(), asked, settings);
  EXPECT_EQ(plain.report.preemptions, 0);
  std::int64_t preemptions = 0;
  for (std::int64_t budget : {128, 300, 5000}) {
    for (std::int64_t slots : {1, 5, 64}) {
      settings.budget = budget;
      settings.slots = slots;
      const Generated other = on_gpu(twins.on_gpu(), asked, settings);
      expect_close(plain.responses, other.responses, 1e-5f);
      EXPECT_LE(other.report.peak_blocks * cuda::kPageTokens, budget);
      preemptions += other.report.preemptions;
    }
  }
  EXPECT_GT(preemptions, 5);
}

TEST_P(CudaGeneration, TwoRunsAreEqualBitForBit) {
  for (cuda::Element element : {cuda::Element::f32, cuda::Element::bf16}) {
    const Twins twins(GetParam(), element, {64, 128, 192, 1008, 14, 2});
    const auto asked = prompts(11, twins.config().vocab_size);
    GenerationSettings settings = settings_for(4, 50);
    settings.budget = 600;
    for (double top_p : {1.0, 0.95}) {
      settings.sampling.top_p = top_p;
      const Generated first = on_gpu(twins.on_gpu(), asked, settings);
      expect_same_bits(first.responses, on_gpu(twins.on_gpu(), asked, settings).responses);
    }
  }
}

TEST_P(CudaGeneration, TruncatedTokensEqualThoseOfTheCpu) {
  const Twins twins(GetParam(), cuda::Element::f32);
  const auto asked = prompts(9, twins.config().vocab_size);
  for (const auto& [top_k, top_p, min_p] :
       std::vector<std::tuple<std::int64_t, double, double>>{{5, 1, 0}, {0, 0.7, 0}, {40, 0.9, 0.05}, {0, 1, 0.1}}) {
    GenerationSettings settings = settings_for(2, 30);
    settings.sampling.top_k = top_k;
    settings.sampling.top_p = top_p;
    settings.sampling.min_p = min_p;
    settings.sampling.min_new = 5;
    expect_close(on_gpu(twins.on_gpu(), asked, settings).responses, on_cpu(twins.on_cpu(), asked, settings), 1e-5f);
  }
}

class CudaGenerationOfTiny : public ::testing::Test {
 protected:
  void SetUp() override { RLFLOW_NEEDS_GPU(); }
};

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

// Stop texts are looked for on the host, after several steps: what was decoded behind one is dropped.
TEST_F(CudaGenerationOfTiny, StopTextsEndResponsesAsOnTheCpu) {
  ModelPlace place;
  place.device = DeviceKind::gpu;
  const auto gpu = CudaModel::draw(kTiny, 3, place);
  const auto cpu = CpuModel::draw(kTiny, 3, 1);
  const Tokenizer tokenizer = read_tokenizer(kTiny);
  const StopTexts stops(tokenizer, {"7", "12"});
  GenerationSettings settings = settings_for(8, 30);
  settings.stop_texts = &stops;
  settings.sampling.min_new = 3;
  std::int64_t told = 0, finished = 0, prompts_finished = 0;
  settings.extended = [&](std::int64_t, const Response& so_far, bool last) {
    ++told;
    finished += last;
    EXPECT_EQ(so_far.tokens.size(), so_far.logprob.size());
  };
  settings.prompt_finished = [&](std::int64_t, std::span<const Response> samples) {
    ++prompts_finished;
    EXPECT_EQ(samples.size(), 8u);
  };
  const std::vector<Tokens> asked = {{1, 5, 6}, {1, 9}, {1, 4, 4, 4, 8}};
  const Generated ours = on_gpu(*gpu, asked, settings);
  std::int64_t tokens = 0, stopped = 0;
  for (const Response& response : ours.responses) {
    tokens += static_cast<std::int64_t>(response.tokens.size());
    stopped += response.finish == FinishReason::stop;
  }
  EXPECT_EQ(told, tokens);
  EXPECT_EQ(finished, 24);
  EXPECT_EQ(prompts_finished, 3);
  EXPECT_GT(stopped, 3);
  settings.extended = {};
  settings.prompt_finished = {};
  expect_close(ours.responses, on_cpu(cpu->view(), asked, settings), 1e-5f);
}

TEST_F(CudaGenerationOfTiny, AStopRequestEndsTheRun) {
  ModelPlace place;
  place.device = DeviceKind::gpu;
  const auto gpu = CudaModel::draw(kTiny, 3, place);
  GenerationSettings settings = settings_for(2, 50);
  std::stop_source source;
  settings.stop = source.get_token();
  settings.extended = [&](std::int64_t, const Response&, bool) { source.request_stop(); };
  const Tokens prompt = {1, 5, 6};
  const std::vector<std::span<const std::int32_t>> views = {prompt};
  std::vector<Response> responses;
  CudaGenerator generator;
  EXPECT_FALSE(generator.run(*gpu, views, settings, responses));
  settings.extended = {};
  settings.stop = {};
  EXPECT_TRUE(generator.run(*gpu, views, settings, responses));
}

// Buffers and graphs of one run serve the next, of another model and other settings too.
TEST_F(CudaGenerationOfTiny, OneGeneratorServesSeveralModels) {
  std::vector<std::unique_ptr<Twins>> models;
  for (const Family& family : testing::families())
    models.push_back(std::make_unique<Twins>(family, cuda::Element::f32));
  CudaGenerator generator;
  const auto asked = prompts(7, 320);
  const std::vector<std::span<const std::int32_t>> views(asked.begin(), asked.end());
  for (int round = 0; round < 2; ++round) {
    for (const auto& model : models) {
      GenerationSettings settings = settings_for(1 + round, 20 + 10 * round);
      std::vector<Response> responses;
      ASSERT_TRUE(generator.run(model->on_gpu(), views, settings, responses));
      expect_same_bits(responses, on_gpu(model->on_gpu(), asked, settings).responses);
    }
  }
}

}  // namespace
}  // namespace rlflow
