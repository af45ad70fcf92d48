// Are draws on the GPU those of the CPU, and distributed as the logits say?
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "nodes/cuda/sample_rows.h"
#include "nodes/model/cpu/kernels.h"
#include "runtime/contract/philox.h"
#include "tests/nodes/cuda/family_twins.h"

namespace rlflow {
namespace {

struct Drawing {
  std::vector<cuda::Drawn> drawn;
  std::vector<float> floors;
};

Drawing draw_on_gpu(const std::vector<float>& logits, int vocabulary, const std::vector<cuda::Draw>& draws,
                    const cuda::SamplerSettings& settings) {
  const cuda::Stream stream;
  const auto count = static_cast<std::int64_t>(draws.size());
  const int tiles = cuda::draw_tiles(vocabulary);
  cuda::DeviceBuffer z(static_cast<std::int64_t>(logits.size()) * 4), d(count * 16), s(sizeof settings), f(count * 4),
      parts(count * tiles * static_cast<std::int64_t>(sizeof(cuda::DrawPart))), out(count * 8);
  cuda::copy(z.data(), logits.data(), z.bytes(), stream);
  cuda::copy(d.data(), draws.data(), d.bytes(), stream);
  cuda::copy(s.data(), &settings, s.bytes(), stream);
  const auto* on_device = s.as<cuda::SamplerSettings>();
  cuda::sampling_floors(stream, d.as<cuda::Draw>(), static_cast<int>(count), z.as<float>(), vocabulary, on_device,
                        f.as<float>());
  cuda::draw_parts(stream, d.as<cuda::Draw>(), static_cast<int>(count), z.as<float>(), vocabulary, on_device,
                   f.as<float>(), parts.as<cuda::DrawPart>());
  cuda::combine_parts(stream, d.as<cuda::Draw>(), static_cast<int>(count), parts.as<cuda::DrawPart>(), tiles, on_device,
                      out.as<cuda::Drawn>());
  Drawing result{std::vector<cuda::Drawn>(draws.size()), std::vector<float>(draws.size())};
  cuda::copy(result.drawn.data(), out.data(), out.bytes(), stream);
  cuda::copy(result.floors.data(), f.data(), f.bytes(), stream);
  stream.synchronize();
  return result;
}

cuda::SamplerSettings settings_for(float temperature, std::int64_t top_k, double top_p, double min_p) {
  cuda::SamplerSettings settings{};
  settings.inverse_temperature = 1 / temperature;
  settings.top_k = top_k;
  settings.top_p = top_p;
  settings.min_p = min_p;
  settings.max_new = 100;
  return settings;
}

const std::vector<std::tuple<float, std::int64_t, double, double>> kWays = {
    {1.0f, 0, 1.0, 0.0}, {0.6f, 0, 1.0, 0.0},  {1.0f, 12, 1.0, 0.0},  {1.0f, 0, 0.8, 0.0},
    {1.5f, 0, 1.0, 0.1}, {0.8f, 30, 0.9, 0.0}, {1.2f, 25, 0.95, 0.05}};

class CudaSampling : public ::testing::Test {
 protected:
  void SetUp() override { RLFLOW_NEEDS_GPU(); }
};

std::vector<float> random_logits(std::size_t count, double spread, std::uint64_t key) {
  PhiloxStream stream(key);
  std::vector<float> logits(count);
  for (float& z : logits) z = static_cast<float>(spread * stream.normal());
  return logits;
}

// 10^5 draws from 60 tokens against the exact probabilities: χ² below its 1 − 10⁻⁵ quantile (Wilson–Hilferty).
TEST_F(CudaSampling, DrawsAreDistributedAsTheTruncatedSoftmax) {
  constexpr int kVocabulary = 60, kDraws = 100000;
  const std::vector<float> logits = random_logits(kVocabulary, 2, 11);
  std::vector<cuda::Draw> draws(kDraws);
  for (int i = 0; i < kDraws; ++i)
    draws[static_cast<std::size_t>(i)] = {0, i % 7, mix64(static_cast<std::uint64_t>(i / 7) + 77)};
  for (const auto& [temperature, top_k, top_p, min_p] : kWays) {
    const Drawing drawing = draw_on_gpu(logits, kVocabulary, draws, settings_for(temperature, top_k, top_p, min_p));
    std::vector<double> weight(kVocabulary);
    double kept = 0, all = 0;
    for (int v = 0; v < kVocabulary; ++v) {
      weight[static_cast<std::size_t>(v)] =
          std::exp(static_cast<double>(logits[static_cast<std::size_t>(v)]) / static_cast<double>(temperature));
      all += weight[static_cast<std::size_t>(v)];
    }
    // The kept set, by sorting.
    std::vector<int> order(kVocabulary);
    for (int v = 0; v < kVocabulary; ++v) order[static_cast<std::size_t>(v)] = v;
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return weight[static_cast<std::size_t>(a)] > weight[static_cast<std::size_t>(b)]; });
    if (top_k > 0) order.resize(static_cast<std::size_t>(top_k));
    double mass = 0, seen = 0;
    for (int v : order) mass += weight[static_cast<std::size_t>(v)];
    std::vector<bool> keep(kVocabulary);
    for (int v : order) {
      const double w = weight[static_cast<std::size_t>(v)];
      if (seen >= top_p * mass || w < min_p * weight[static_cast<std::size_t>(order[0])]) break;
      seen += w;
      keep[static_cast<std::size_t>(v)] = true;
      kept += w;
    }
    std::vector<double> counts(kVocabulary);
    for (const cuda::Drawn& drawn : drawing.drawn) {
      const auto token = static_cast<std::size_t>(drawn.token);
      ASSERT_TRUE(keep[token]) << token;
      ++counts[token];
      ASSERT_NEAR(drawn.logprob, std::log(weight[token] / all), 2e-6);
    }
    double chi = 0, rest_expected = 0, rest_counted = 0;
    int cells = 0;
    for (std::size_t v = 0; v < kVocabulary; ++v) {
      if (!keep[v]) continue;
      const double expected = kDraws * weight[v] / kept;
      if (expected < 10) {
        rest_expected += expected;
        rest_counted += counts[v];
        continue;
      }
      chi += (counts[v] - expected) * (counts[v] - expected) / expected;
      ++cells;
    }
    if (rest_expected > 10) {
      chi += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
      ++cells;
    }
    const double k = cells - 1, third = 2.0 / (9 * k);
    const double limit = k * std::pow(1 - third + 4.2649 * std::sqrt(third), 3);
    std::printf("T %.1f top_k %lld top_p %.2f min_p %.2f: chi2 %.1f over %d cells, limit %.1f\n",
                static_cast<double>(temperature), static_cast<long long>(top_k), top_p, min_p, chi, cells, limit);
    EXPECT_LT(chi, limit);
  }
}

// Large vocabularies of any length: the same borders and tokens as on the CPU, log-probabilities within 2e-5.
TEST_F(CudaSampling, FloorsAndTokensEqualThoseOfTheCpu) {
  for (int vocabulary : {1, 3, 1001, 32000, 151936}) {
    constexpr int kRows = 24;
    const std::vector<float> logits = random_logits(static_cast<std::size_t>(vocabulary) * kRows, 3, 5);
    std::vector<cuda::Draw> draws;
    for (int i = 0; i < 4 * kRows; ++i) draws.push_back({i % kRows, i, mix64(static_cast<std::uint64_t>(i))});
    for (const auto& [temperature, top_k, top_p, min_p] : kWays) {
      const Drawing drawing = draw_on_gpu(logits, vocabulary, draws, settings_for(temperature, top_k, top_p, min_p));
      std::vector<float> scratch(static_cast<std::size_t>(vocabulary));
      int other_floors = 0;
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const float* z = logits.data() + static_cast<std::int64_t>(draws[i].row) * vocabulary;
        const float inverse = 1 / temperature;
        float floor = -INFINITY;
        if (top_k > 0 || top_p < 1 || min_p > 0)
          floor = cpu::kernels().sampling_floor(z, vocabulary, inverse, {top_k, top_p, min_p}, scratch.data());
        // Sums of many probabilities are rounded differently: a border may move by a token of the nucleus.
        if (floor > -INFINITY && std::fabs(floor - drawing.floors[i]) > 1e-5f * (1 + std::fabs(floor))) ++other_floors;
        const std::int32_t token = cpu::kernels().sample_token(z, vocabulary, inverse, floor, draws[i].key,
                                                               static_cast<std::uint32_t>(draws[i].position));
        ASSERT_EQ(drawing.drawn[i].token, token) << vocabulary << " " << i;
        if (i >= kRows) continue;
        double mass = 0;  // in f64: sums of 151,936 floats differ by 3e-5
        for (int v = 0; v < vocabulary; ++v) mass += std::exp(static_cast<double>(z[v] * inverse - z[token] * inverse));
        ASSERT_NEAR(drawing.drawn[i].logprob, -std::log(mass), 1e-5);
      }
      EXPECT_LE(other_floors, 4) << vocabulary << " " << top_k << " " << top_p << " " << min_p;
    }
  }
}

TEST_F(CudaSampling, GreedyTakesTheLowerOfEqualLogitsAndNoEndTokenBeforeMinNew) {
  std::vector<float> logits(5000, 0.0f);
  logits[4000] = logits[17] = logits[2500] = 3.0f;
  cuda::SamplerSettings settings = settings_for(1, 0, 1, 0);
  settings.greedy = 1;
  settings.end_count = 1;
  settings.end_ids[0] = 17;
  settings.min_new = 2;
  const Drawing drawing = draw_on_gpu(logits, 5000, {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}}, settings);
  EXPECT_EQ(drawing.drawn[0].token, 2500);
  EXPECT_EQ(drawing.drawn[1].token, 2500);
  EXPECT_EQ(drawing.drawn[2].token, 17);
}

}  // namespace
}  // namespace rlflow
