// Does the GPU say what the CPU says: log-probabilities, entropies, values, gradients, optimizer steps and digests?
#include "nodes/model/cuda_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "nodes/format/file.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/cuda_model.h"
#include "tests/nodes/cuda/family_folder.h"

namespace rlflow {
namespace {

using Numbers32 = std::vector<float>;

// Prompts of 1 to 130 tokens with a few responses of 1 to 150 each.
struct Batch {
  explicit Batch(std::int64_t vocabulary, std::uint64_t seed = 3) {
    PhiloxStream stream(seed);
    auto append = [&](std::vector<std::int32_t>& to, std::uint64_t count) {
      for (; count > 0; --count) {
        to.push_back(static_cast<std::int32_t>(stream.below(static_cast<std::uint64_t>(vocabulary))));
      }
    };
    for (std::int32_t prompt = 0; prompt < 5; ++prompt) {
      append(prompts, 1 + stream.below(130));
      prompt_offsets.push_back(static_cast<std::int64_t>(prompts.size()));
      for (std::uint64_t sample = 1 + stream.below(4); sample > 0; --sample) {
        append(tokens, 1 + stream.below(150));
        offsets.push_back(static_cast<std::int64_t>(tokens.size()));
        all.push_back(static_cast<std::int64_t>(group.size()));
        group.push_back(prompt);
      }
    }
  }
  std::vector<Chunk> chunks(std::int64_t budget) const {
    return pack_responses({prompts, prompt_offsets}, {tokens, offsets}, group, all, budget);
  }
  std::vector<std::int32_t> prompts, tokens, group;
  std::vector<std::int64_t> prompt_offsets{0}, offsets{0}, all;
};

struct Read {
  Numbers32 logprob, entropy, gradient;
};

float weight_of(std::int64_t token) { return std::sin(static_cast<float>(token) * 0.7f) / 100; }
float entropy_weight_of(std::int64_t token) { return std::cos(static_cast<float>(token) * 0.3f) / 400; }

Numbers32 on_host(const float* values, std::int64_t count, bool device) {
  Numbers32 host(static_cast<std::size_t>(count));
  if (!device) {
    std::copy_n(values, count, host.begin());
    return host;
  }
  const cuda::Stream stream;
  cuda::copy(host.data(), values, count * 4, stream);
  stream.synchronize();
  return host;
}

Read read(Passes& passes, const LanguageModel& model, const std::vector<Chunk>& chunks, std::size_t tokens,
          float inverse_temperature = 1.25f) {
  Read result{Numbers32(tokens), Numbers32(tokens), {}};
  const PassSettings settings{inverse_temperature, 2, {}};
  const float* gradient = passes.gradient(model, chunks, settings, [&](const ChunkLoss& loss) {
    const Chunk& chunk = chunks[loss.chunk];
    for (std::size_t i = 0; i < chunk.index.size(); ++i) {
      const auto at = static_cast<std::size_t>(chunk.index[i]);
      result.logprob[at] = loss.logprob[i];
      result.entropy[at] = loss.entropy[i];
      loss.dlogprob[i] = weight_of(chunk.index[i]);
      loss.dentropy[i] = entropy_weight_of(chunk.index[i]);
    }
  });
  result.gradient = on_host(gradient, model.layout().size, dynamic_cast<const CudaModel*>(&model) != nullptr);
  return result;
}

double largest_difference(const Numbers32& a, const Numbers32& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN stays
  }
  return largest;
}

// ‖a − b‖ / ‖b‖ over [offset, offset + count).
double relative_error(const Numbers32& a, const Numbers32& b, std::int64_t offset, std::int64_t count) {
  double difference = 0, size = 0;
  for (auto i = static_cast<std::size_t>(offset); i < static_cast<std::size_t>(offset + count); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}
double relative_error(const Numbers32& a, const Numbers32& b) {
  EXPECT_EQ(a.size(), b.size());
  return relative_error(a, b, 0, static_cast<std::int64_t>(b.size()));
}

bool same_bits(const Numbers32& a, const Numbers32& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

ModelPlace gpu(Dtype dtype = Dtype::f32, bool trainable = true) { return {DeviceKind::gpu, 0, 1, dtype, trainable}; }

// The bytes of a part.
class Bytes final : public ByteSink {
 public:
  void write(std::span<const std::byte> more) override { data.insert(data.end(), more.begin(), more.end()); }
  std::vector<std::byte> data;
};
std::vector<std::byte> saved(const ModelInstance& model, std::string_view part) {
  Bytes bytes;
  model.save(part, bytes);
  return bytes.data;
}

class CudaFamilies : public ::testing::TestWithParam<testing::Family> {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
    folder_ = testing::family_folder(GetParam());
  }
  std::filesystem::path folder_;
};
std::string family_name(const ::testing::TestParamInfo<testing::Family>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Tiny, CudaFamilies, ::testing::ValuesIn(testing::families()), family_name);

TEST_P(CudaFamilies, PassesInF32AreThoseOfTheCpu) {
  const auto on_cpu = CpuModel::load_folder(folder_, 2);
  const auto on_gpu = CudaModel::load_folder(folder_, gpu());
  const Batch batch(on_cpu->config().vocab_size);
  const std::vector<Chunk> chunks = batch.chunks(600);
  ASSERT_GT(chunks.size(), 1u);
  CpuPasses cpu_passes;
  CudaPasses gpu_passes;
  const Read expected = read(cpu_passes, *on_cpu, chunks, batch.tokens.size());
  const Read actual = read(gpu_passes, *on_gpu, chunks, batch.tokens.size());
  const double logprob = largest_difference(actual.logprob, expected.logprob);
  const double entropy = largest_difference(actual.entropy, expected.entropy);
  const double gradient = relative_error(actual.gradient, expected.gradient);
  std::printf("f32 %s: logprob %.2e, entropy %.2e, gradient %.2e\n", GetParam().name.c_str(), logprob, entropy,
              gradient);
  EXPECT_LE(logprob, 2e-5);
  EXPECT_LE(entropy, 2e-5);
  EXPECT_LE(gradient, 1e-5);
  for (const ParameterSlot& slot : on_cpu->layout().slots) {
    EXPECT_LE(relative_error(actual.gradient, expected.gradient, slot.offset, slot.count), 5e-5) << slot.name;
  }
  // A log-prob pass shares its buffers between layers; it must say the same.
  Numbers32 alone(batch.tokens.size());
  gpu_passes.logprobs(*on_gpu, chunks, {1.25f, 1, {}}, alone);
  EXPECT_LE(largest_difference(alone, expected.logprob), 2e-5);
}

TEST_P(CudaFamilies, PassesInBf16AreNearThoseOfTheRoundedWeightsInF32) {
  const auto in_bf16 = CudaModel::load_folder(folder_, gpu(Dtype::bf16, false));
  const auto on_cpu = CpuModel::load_folder(folder_, 2);
  on_cpu->load("parameters", saved(*in_bf16, "parameters"));
  const Batch batch(on_cpu->config().vocab_size);
  const std::vector<Chunk> chunks = batch.chunks(600);
  CpuPasses cpu_passes;
  CudaPasses gpu_passes;
  const Read expected = read(cpu_passes, *on_cpu, chunks, batch.tokens.size());
  const Read actual = read(gpu_passes, *in_bf16, chunks, batch.tokens.size());
  const double logprob = largest_difference(actual.logprob, expected.logprob);
  const double entropy = largest_difference(actual.entropy, expected.entropy);
  const double gradient = relative_error(actual.gradient, expected.gradient);
  std::printf("bf16 %s: logprob %.2e, entropy %.2e, gradient %.2e\n", GetParam().name.c_str(), logprob, entropy,
              gradient);
  EXPECT_LE(logprob, 0.15);
  EXPECT_LE(entropy, 0.1);
  EXPECT_LE(gradient, 0.04);
}

TEST_P(CudaFamilies, MicroBatchesChangeTheGradientByRoundingAlone) {
  const auto model = CudaModel::load_folder(folder_, gpu());
  const Batch batch(model->config().vocab_size);
  CudaPasses passes;
  const Read whole = read(passes, *model, batch.chunks(100000), batch.tokens.size());
  const Read split = read(passes, *model, batch.chunks(1), batch.tokens.size());
  EXPECT_LE(relative_error(split.gradient, whole.gradient), 1e-5);
  EXPECT_LE(largest_difference(split.logprob, whole.logprob), 2e-5);
}

TEST_P(CudaFamilies, TwoRunsAreEqualBitForBit) {
  for (Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    std::vector<Read> reads;
    std::vector<Digest> states;
    for (int run = 0; run < 2; ++run) {
      const auto model = CudaModel::load_folder(folder_, gpu(dtype));
      model->attach_optimizer({.schedule = {.peak = 1e-3}, .decay = 0.1});
      const Batch batch(model->config().vocab_size);
      CudaPasses passes;
      for (int step = 0; step < 3; ++step) {
        reads.push_back(read(passes, *model, batch.chunks(500), batch.tokens.size()));
        const cuda::Stream stream;
        const cuda::DeviceBuffer gradient(model->layout().size * 4);
        cuda::copy(gradient.data(), reads.back().gradient.data(), gradient.bytes(), stream);
        stream.synchronize();
        EXPECT_TRUE(model->apply(gradient.as<float>()).applied);
      }
      states.push_back(model->state_digest());
    }
    EXPECT_TRUE(states[0] == states[1]);
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_TRUE(same_bits(reads[step].logprob, reads[step + 3].logprob));
      EXPECT_TRUE(same_bits(reads[step].gradient, reads[step + 3].gradient));
    }
  }
}

// Three levels of prefixes: what a chain computes is what whole sequences compute.
TEST_P(CudaFamilies, AChainOfPrefixesIsExact) {
  const auto model = CudaModel::load_folder(folder_, gpu());
  PhiloxStream stream(11);
  auto draw = [&](std::size_t count) {
    std::vector<std::int32_t> tokens(count);
    for (std::int32_t& token : tokens) {
      token = static_cast<std::int32_t>(stream.below(static_cast<std::uint64_t>(model->config().vocab_size)));
    }
    return tokens;
  };
  const std::vector<std::int32_t> root = draw(70), middle = draw(45), other = draw(3);
  const std::vector<std::vector<std::int32_t>> leaves = {draw(33), draw(80), draw(1)};
  Chunk chain, flat;
  auto add = [&](Chunk& chunk, const std::vector<std::int32_t>& tokens, std::int32_t prefix) {
    std::int32_t position = 0;
    if (prefix >= 0) {
      const Segment& before = chunk.rows.segments[static_cast<std::size_t>(prefix)];
      position = chunk.rows.positions[static_cast<std::size_t>(before.begin + before.length - 1)] + 1;
    }
    chunk.rows.segments.push_back({chunk.rows.size(), static_cast<std::int64_t>(tokens.size()), prefix});
    for (std::int32_t token : tokens) {
      chunk.rows.tokens.push_back(token);
      chunk.rows.positions.push_back(position++);
    }
    return static_cast<std::int32_t>(chunk.rows.segments.size()) - 1;
  };
  auto want = [](Chunk& chunk, std::size_t count) {  // every row of the last segment
    for (std::size_t t = 0; t < count; ++t) {
      chunk.index.push_back(static_cast<std::int64_t>(chunk.index.size()));
      chunk.targets.push_back({chunk.rows.size() - static_cast<std::int64_t>(count) + static_cast<std::int64_t>(t),
                               static_cast<std::int32_t>(t % 100)});
    }
  };
  const std::int32_t top = add(chain, root, -1), next = add(chain, middle, top), side = add(chain, other, top);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    add(chain, leaves[l], l == 2 ? side : next);
    want(chain, leaves[l].size());
    std::vector<std::int32_t> whole = root;
    const std::vector<std::int32_t>& between = l == 2 ? other : middle;
    whole.insert(whole.end(), between.begin(), between.end());
    whole.insert(whole.end(), leaves[l].begin(), leaves[l].end());
    add(flat, whole, -1);
    want(flat, leaves[l].size());
  }
  CudaPasses passes;
  const Read shared = read(passes, *model, {chain}, chain.index.size());
  const Read alone = read(passes, *model, {flat}, flat.index.size());
  EXPECT_LE(largest_difference(shared.logprob, alone.logprob), 2e-5);
  EXPECT_LE(relative_error(shared.gradient, alone.gradient), 1e-5);
}

TEST_P(CudaFamilies, ValuesAreThoseOfTheCpu) {
  const std::filesystem::path folder = testing::family_folder(GetParam(), Head::value);
  const auto on_cpu = CpuModel::load_folder(folder, 2, Head::value);
  const auto on_gpu = CudaModel::load_folder(folder, gpu(), Head::value);
  const Batch batch(on_cpu->config().vocab_size);
  const std::vector<Chunk> chunks = batch.chunks(600);
  CpuPasses cpu_passes;
  CudaPasses gpu_passes;
  auto values = [&](Passes& passes, const LanguageModel& model, Numbers32& read_values) {
    read_values.resize(batch.tokens.size());
    passes.values(model, chunks, {1, 2, {}}, read_values);
    const float* gradient = passes.value_gradient(model, chunks, {1, 2, {}}, [&](const ChunkValues& loss) {
      for (std::size_t i = 0; i < loss.value.size(); ++i) {
        loss.dvalue[i] = loss.value[i] * weight_of(chunks[loss.chunk].index[i]);
      }
    });
    return on_host(gradient, model.layout().size, &passes == &gpu_passes);
  };
  Numbers32 expected_values, actual_values;
  const Numbers32 expected = values(cpu_passes, *on_cpu, expected_values);
  const Numbers32 actual = values(gpu_passes, *on_gpu, actual_values);
  EXPECT_LE(largest_difference(actual_values, expected_values), 2e-5);
  EXPECT_LE(relative_error(actual, expected), 1e-5);
}

TEST_P(CudaFamilies, AnOptimizerStepIsThatOfTheCpu) {
  const auto on_cpu = CpuModel::load_folder(folder_, 2);
  const auto on_gpu = CudaModel::load_folder(folder_, gpu());
  EXPECT_TRUE(on_gpu->weights_digest() == on_cpu->weights_digest());
  AdamWSettings settings{.schedule = {.peak = 1e-2}, .decay = 0.3, .clip = 0.5};
  on_cpu->attach_optimizer(settings);
  on_gpu->attach_optimizer(settings);
  EXPECT_TRUE(on_gpu->state_digest() == on_cpu->state_digest());
  PhiloxStream stream(5);
  Numbers32 gradient(static_cast<std::size_t>(on_cpu->layout().size));
  for (int step = 0; step < 3; ++step) {
    for (float& g : gradient) g = static_cast<float>(stream.normal() * 0.01);
    const cuda::Stream order;
    const cuda::DeviceBuffer there(on_cpu->layout().size * 4);
    cuda::copy(there.data(), gradient.data(), there.bytes(), order);
    order.synchronize();
    const AdamWStep expected = on_cpu->apply(gradient.data()), actual = on_gpu->apply(there.as<float>());
    EXPECT_TRUE(actual.applied);
    EXPECT_NEAR(actual.gradient_norm, expected.gradient_norm, 1e-9 * expected.gradient_norm);
    EXPECT_EQ(actual.learning_rate, expected.learning_rate);
  }
  const at::Tensor parameters = on_gpu->parameters_on_host();
  const Numbers32 actual = on_host(floats(parameters), on_cpu->layout().size, false);
  const Numbers32 expected = on_host(on_cpu->parameters(), on_cpu->layout().size, false);
  for (const ParameterSlot& slot : on_cpu->layout().slots) {
    EXPECT_LE(relative_error(actual, expected, slot.offset, slot.count), 1e-6) << slot.name;
  }
  gradient[7] = std::nanf("");
  const WeightsDigest before = on_gpu->weights_digest();
  const Digest state = on_gpu->state_digest();
  const cuda::Stream order;
  const cuda::DeviceBuffer there(on_cpu->layout().size * 4);
  cuda::copy(there.data(), gradient.data(), there.bytes(), order);
  order.synchronize();
  EXPECT_FALSE(on_gpu->apply(there.as<float>()).applied);
  EXPECT_TRUE(on_gpu->weights_digest() == before);
  EXPECT_TRUE(on_gpu->state_digest() == state);
}

TEST_P(CudaFamilies, WhatIsSavedComesBackBitForBit) {
  for (Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const auto model = CudaModel::load_folder(folder_, gpu(dtype));
    model->attach_optimizer({.schedule = {.peak = 1e-2}});
    const Batch batch(model->config().vocab_size);
    CudaPasses passes;
    EXPECT_TRUE(model
                    ->apply(passes.gradient(
                        *model, batch.chunks(600), {1, 1, {}},
                        [](const ChunkLoss& loss) { std::fill(loss.dlogprob.begin(), loss.dlogprob.end(), 0.01f); }))
                    .applied);
    const std::vector<std::byte> parameters = saved(*model, "parameters"), moments = saved(*model, "optimizer");
    const auto other = CudaModel::draw(folder_, 5, gpu(dtype));
    other->attach_optimizer({.schedule = {.peak = 1e-2}});
    EXPECT_NE(other->first_difference(parameters), "");
    other->load("parameters", parameters);
    other->load("optimizer", moments);
    EXPECT_EQ(other->first_difference(parameters), "");
    EXPECT_TRUE(other->state_digest() == model->state_digest());
    Numbers32 one(batch.tokens.size()), two(batch.tokens.size());
    passes.logprobs(*model, batch.chunks(600), {1, 1, {}}, one);
    passes.logprobs(*other, batch.chunks(600), {1, 1, {}}, two);
    EXPECT_TRUE(same_bits(one, two));
    // The engine compares them when weights are handed on.
    const char* name = dtype == Dtype::bf16 ? "bf16" : "f32";
    EXPECT_TRUE(model->copy_for_replica(name)->weights_digest() == model->weights_digest());
    if (dtype == Dtype::bf16) {
      const auto replica = model->copy_for_replica("bf16");
      passes.logprobs(dynamic_cast<const LanguageModel&>(*replica), batch.chunks(600), {1, 1, {}}, two);
      EXPECT_TRUE(same_bits(one, two));
    }
  }
}

TEST_P(CudaFamilies, ABf16ModelIsThatOfTheCpu) {
  const auto on_cpu = CpuModel::load_folder(folder_, 2, {Head::lm, Dtype::bf16});
  ModelPlace place = gpu(Dtype::bf16);
  place.trainable = true;
  const auto on_gpu = CudaModel::load_folder(folder_, place);
  EXPECT_TRUE(on_gpu->weights_digest() == on_cpu->weights_digest());
  on_cpu->attach_optimizer({.schedule = {.peak = 1e-2}});
  on_gpu->attach_optimizer({.schedule = {.peak = 1e-2}});
  EXPECT_TRUE(on_gpu->state_digest() == on_cpu->state_digest());
  const auto folder = [](const char* name) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    return path;
  };
  const auto one = folder("rlflow_bf16_cpu"), two = folder("rlflow_bf16_gpu");
  on_cpu->export_folder(one);
  on_gpu->export_folder(two);
  for (const char* name : {"config.json", "model.safetensors"}) {
    EXPECT_TRUE(read_text_file(one / name, 1 << 30) == read_text_file(two / name, 1 << 30)) << name;
  }
}

TEST(CudaDevice, SaysWhatIsWrong) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  EXPECT_THAT([] { cuda::use_device(4711); },
              ::testing::ThrowsMessage<cuda::CudaFailure>(::testing::HasSubstr("no GPU 4711")));
  cuda::use_device(0);
  const std::int64_t before = cuda::memory_use().allocated;
  EXPECT_THROW(cuda::DeviceBuffer(std::int64_t{1} << 50), cuda::OutOfDeviceMemory);
  {
    const cuda::DeviceBuffer buffer(1 << 20);  // and all is as it was
    EXPECT_GE(cuda::memory_use().allocated, before + (1 << 20));
  }
  EXPECT_EQ(cuda::memory_use().allocated, before);
}

}  // namespace
}  // namespace rlflow
