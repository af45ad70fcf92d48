// Does the transformer compute what it should, forward and backward, and do models survive being saved?
#include "nodes/model/cpu_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <cmath>
#include <fstream>
#include <numeric>

#include "nodes/format/safetensors.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/rollout/cpu_generator.h"
#include "tests/nodes/model/packed_responses.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

std::unique_ptr<CpuModel> tiny(std::uint64_t seed = 1) { return CpuModel::draw(kTiny, seed, 2); }

// Three prompts, two responses each, of lengths 1 to 6.
struct Batch {
  std::vector<std::int32_t> prompt_tokens{1, 4, 13, 5, 16, 1, 9, 9, 13, 3, 16, 1, 7};
  std::vector<std::int64_t> prompt_offsets{0, 5, 11, 13};
  std::vector<std::int32_t> tokens{6, 2, 2, 17, 4, 13, 5, 18, 2, 8, 8, 8, 19, 2, 11, 2};
  std::vector<std::int64_t> offsets{0, 2, 3, 9, 10, 14, 16};
  std::vector<std::int32_t> group{0, 0, 1, 1, 2, 2};
  std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5};

  std::vector<Chunk> chunks(std::int64_t budget) const {
    return pack_responses({prompt_tokens, prompt_offsets}, {tokens, offsets}, group, all, budget);
  }
  // The same without shared prompts: every sequence a row of its own, its prompt masked.
  std::vector<Chunk> whole(std::vector<std::int64_t>& index) const {
    std::vector<std::int32_t> rows;
    std::vector<std::int64_t> ends{0};
    std::vector<std::uint8_t> mask;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const TokenRows prompts{prompt_tokens, prompt_offsets}, responses{tokens, offsets};
      for (std::int32_t token : prompts.row(group[i])) {
        rows.push_back(token);
        mask.push_back(0);
      }
      for (std::int32_t token : responses.row(static_cast<std::int64_t>(i))) {
        index.push_back(static_cast<std::int64_t>(rows.size()));
        rows.push_back(token);
        mask.push_back(1);
      }
      ends.push_back(static_cast<std::int64_t>(rows.size()));
    }
    return pack_examples({rows, ends}, mask, all, 1000);
  }
};

std::vector<float> logprobs(const CpuModel& model, const std::vector<Chunk>& chunks, std::size_t size,
                            float inverse_temperature = 1) {
  CpuPasses passes;
  std::vector<float> result(size);
  passes.logprobs(model.view(), chunks, {inverse_temperature, 2, {}}, result);
  return result;
}

// Σ_t c_t·ℓ_t + h_t·H_t with fixed, uneven coefficients.
double objective(const CpuModel& model, const std::vector<Chunk>& chunks, std::vector<float>* gradient) {
  CpuPasses passes;
  std::vector<double> parts(chunks.size());
  const float* sum = passes.gradient(model.view(), chunks, {0.8f, 2, {}}, [&](const ChunkLoss& chunk) {
    for (std::size_t i = 0; i < chunk.logprob.size(); ++i) {
      const auto c = static_cast<float>(1 + chunks[chunk.chunk].index[i] % 5 - 2.5);
      const auto h = static_cast<float>(0.3 * static_cast<double>(chunks[chunk.chunk].index[i] % 3));
      parts[chunk.chunk] += static_cast<double>(c) * chunk.logprob[i] + static_cast<double>(h) * chunk.entropy[i];
      chunk.dlogprob[i] = c;
      chunk.dentropy[i] = h;
    }
  });
  if (gradient) gradient->assign(sum, sum + model.layout().size);
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

void set_parameters(CpuModel& model, const std::vector<float>& values) {
  std::vector<TensorView> views;
  for (const ParameterSlot& slot : model.layout().slots) {
    const std::span<const float> part(values.data() + slot.offset, static_cast<std::size_t>(slot.count));
    views.push_back({slot.name, TensorType::f32, {slot.shape.begin(), slot.shape.end()}, std::as_bytes(part), 0});
  }
  VectorSink sink;
  write_safetensors(sink, std::move(views), {});
  model.load("parameters", sink.bytes);
}

TEST(Transformer, TheGradientOfEveryTensorIsItsSlope) {
  auto model = tiny();
  const std::vector<Chunk> chunks = Batch().chunks(1000);
  std::vector<float> gradient;
  objective(*model, chunks, &gradient);
  const std::vector<float> start(model->parameters(), model->parameters() + model->layout().size);
  for (const ParameterSlot& slot : model->layout().slots) {
    // Along the gradient of this tensor alone the objective rises by its norm.
    double norm = 0;
    for (std::int64_t i = slot.offset; i < slot.offset + slot.count; ++i) {
      norm += static_cast<double>(gradient[static_cast<std::size_t>(i)]) * gradient[static_cast<std::size_t>(i)];
    }
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << slot.name;
    const double step = 1e-2;
    const auto moved = [&](double by) {
      std::vector<float> values = start;
      for (std::int64_t i = slot.offset; i < slot.offset + slot.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        values[at] += static_cast<float>(by * gradient[at] / norm);
      }
      set_parameters(*model, values);
      return objective(*model, chunks, nullptr);
    };
    EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step) / norm, 1, 5e-3) << slot.name;
  }
}

TEST(Transformer, SharingAPromptChangesRoundingAlone) {
  const auto model = tiny();
  const Batch batch;
  std::vector<std::int64_t> index;
  const std::vector<Chunk> whole = batch.whole(index);
  const std::vector<float> shared = logprobs(*model, batch.chunks(1000), batch.tokens.size());
  const std::vector<float> alone = logprobs(*model, whole, 100);
  // A prompt's own keys stand in one span or in two, so sums may be ordered differently: equal to rounding.
  for (std::size_t i = 0; i < index.size(); ++i) {
    EXPECT_NEAR(shared[i], alone[static_cast<std::size_t>(index[i])], 2e-6) << i;
  }
}

TEST(Transformer, HowABatchIsCutChangesNoLogprobAndHardlyTheGradient) {
  const auto model = tiny();
  const Batch batch;
  std::vector<float> whole, cut;
  const double whole_value = objective(*model, batch.chunks(1000), &whole);
  for (std::int64_t budget : {1, 8, 15}) {
    const std::vector<Chunk> chunks = batch.chunks(budget);
    EXPECT_GT(chunks.size(), 1u);
    EXPECT_EQ(logprobs(*model, chunks, 16), logprobs(*model, batch.chunks(1000), 16));
    EXPECT_NEAR(objective(*model, chunks, &cut), whole_value, 1e-9 * std::abs(whole_value) + 1e-9);
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      difference += (whole[i] - cut[i]) * (whole[i] - cut[i]);
      size += whole[i] * whole[i];
    }
    EXPECT_LT(std::sqrt(difference / size), 1e-6) << budget;
  }
}

TEST(Transformer, ThreadsChangeNoBitOfTheGradient) {
  const auto model = tiny();
  const std::vector<Chunk> chunks = Batch().chunks(8);
  const auto gradient = [&](std::int32_t threads) {
    CpuPasses passes;
    const float* sum = passes.gradient(model->view(), chunks, {1, threads, {}}, [](const ChunkLoss& chunk) {
      for (float& d : chunk.dlogprob) d = 1;
    });
    return std::vector<float>(sum, sum + model->layout().size);
  };
  EXPECT_EQ(gradient(1), gradient(2));
}

class Generation : public ::testing::Test {
 protected:
  std::vector<Response> generate(const CpuModel& model, const std::vector<std::vector<std::int32_t>>& prompts,
                                 double temperature, std::int32_t threads = 2, std::int64_t samples = 4) {
    const std::vector<std::span<const std::int32_t>> views(prompts.begin(), prompts.end());
    GenerationSettings settings;
    settings.samples = samples;
    settings.sampling.max_new = 12;
    settings.sampling.temperature = temperature;
    settings.threads = threads;
    std::vector<Response> responses;
    CpuGenerator generator;
    EXPECT_TRUE(generator.run(model.view(), views, settings, responses));
    return responses;
  }
  std::vector<std::vector<std::int32_t>> prompts() const {
    std::vector<std::vector<std::int32_t>> result;
    for (std::int32_t i = 0; i < 40; ++i) result.push_back({1, 3 + i % 10, 13, 3 + i / 10, 16});
    return result;
  }
};

TEST_F(Generation, LogprobsAreThoseOfTheTrainingPassToTheBit) {
  const auto model = tiny();
  const auto asked = prompts();
  for (double temperature : {1.0, 0.6}) {
    const std::vector<Response> responses = generate(*model, asked, temperature);
    const testing::PackedResponses packed(asked, responses, 4);
    EXPECT_EQ(logprobs(*model, packed.chunks(100), packed.tokens.size(), static_cast<float>(1 / temperature)),
              packed.sampled);
  }
}

TEST_F(Generation, AResponseDoesNotDependOnThreadsOrCompany) {
  const auto model = tiny();
  const auto asked = prompts();
  const std::vector<Response> all = generate(*model, asked, 1.0), one_thread = generate(*model, asked, 1.0, 1);
  const std::vector<Response> first = generate(*model, {asked[0]}, 1.0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].tokens, one_thread[i].tokens);
    EXPECT_EQ(all[i].logprob, one_thread[i].logprob);
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(all[i].tokens, first[i].tokens);
    EXPECT_EQ(all[i].logprob, first[i].logprob);
  }
}

// Each prompt is told once, when all of its samples are there, before the batch is whole.
TEST_F(Generation, APromptIsToldWhenItsSamplesAreFinished) {
  const auto model = tiny();
  const auto asked = prompts();
  const std::vector<std::span<const std::int32_t>> views(asked.begin(), asked.end());
  GenerationSettings settings;
  settings.samples = 4;
  settings.sampling.max_new = 12;
  settings.threads = 2;
  std::map<std::int64_t, std::vector<std::vector<std::int32_t>>> told;
  std::int64_t finished = 0, first_told_at = 0;
  settings.progress = [&](std::int64_t done) { finished = done; };
  settings.prompt_finished = [&](std::int64_t prompt, std::span<const Response> samples) {
    EXPECT_FALSE(told.contains(prompt));
    if (told.empty()) first_told_at = finished;
    for (const Response& response : samples) told[prompt].push_back(response.tokens);
  };
  std::vector<Response> responses;
  CpuGenerator generator;
  ASSERT_TRUE(generator.run(model->view(), views, settings, responses));
  ASSERT_EQ(told.size(), asked.size());
  EXPECT_LT(first_told_at, 4 * 40);
  for (std::size_t i = 0; i < responses.size(); ++i) {
    EXPECT_EQ(told[static_cast<std::int64_t>(i / 4)].at(i % 4), responses[i].tokens);
  }
}

TEST_F(Generation, SamplesOfOnePromptDifferAndGreedyOnesDoNot) {
  const auto model = tiny();
  const std::vector<Response> hot = generate(*model, {prompts()[0]}, 1.0), cold = generate(*model, {prompts()[0]}, 0.0);
  EXPECT_NE(hot[0].tokens, hot[1].tokens);
  EXPECT_EQ(cold[0].tokens, cold[1].tokens);
}

TEST_F(Generation, EndsAtAnEndTokenOrAtTheLimit) {
  const auto model = tiny();
  bool some_ended = false, some_cut = false;
  for (const Response& response : generate(*model, prompts(), 1.0)) {
    const auto end = std::find(response.tokens.begin(), response.tokens.end(), 2);
    const bool ended = response.finish == FinishReason::end;
    EXPECT_EQ(ended, end != response.tokens.end());
    if (ended) {
      EXPECT_EQ(end + 1, response.tokens.end());
    } else {
      EXPECT_EQ(response.tokens.size(), 12u);
    }
    (ended ? some_ended : some_cut) = true;
  }
  EXPECT_TRUE(some_ended && some_cut);
}

TEST_F(Generation, StopsWhenAskedAndRefusesPromptsBeyondThePositions) {
  const auto model = tiny();
  const std::vector<std::int32_t> prompt(60, 4);
  const std::vector<std::span<const std::int32_t>> views{prompt};
  GenerationSettings settings;
  settings.sampling.max_new = 5;
  std::vector<Response> responses;
  CpuGenerator generator;
  EXPECT_THAT([&] { generator.run(model->view(), views, settings, responses); },
              ThrowsMessage<std::runtime_error>(HasSubstr("max_position_embeddings")));
  settings.sampling.max_new = 4;
  std::stop_source stop;
  stop.request_stop();
  settings.stop = stop.get_token();
  EXPECT_FALSE(generator.run(model->view(), views, settings, responses));
}

AdamWSettings some_optimizer() {
  AdamWSettings settings;
  settings.schedule.peak = 1e-2;
  return settings;
}

std::vector<std::byte> saved(const CpuModel& model, const char* part) {
  VectorSink sink;
  model.save(part, sink);
  return sink.bytes;
}

TEST(LanguageModel, TheSameSeedDrawsTheSameWeights) {
  EXPECT_EQ(hex(tiny(1)->weights_digest()), hex(tiny(1)->weights_digest()));
  EXPECT_NE(hex(tiny(1)->weights_digest()), hex(tiny(2)->weights_digest()));
}

TEST(LanguageModel, ARestoredModelGoesOnToTheBit) {
  auto model = tiny(), other = tiny(2);
  model->attach_optimizer(some_optimizer());
  other->attach_optimizer(some_optimizer());
  std::vector<float> gradient;
  objective(*model, Batch().chunks(1000), &gradient);
  model->apply(gradient.data());
  other->load("parameters", saved(*model, "parameters"));
  EXPECT_TRUE(other->weights_digest() == model->weights_digest());
  EXPECT_NE(other->state_digest(), model->state_digest());
  other->load("optimizer", saved(*model, "optimizer"));
  EXPECT_EQ(other->state_digest(), model->state_digest());
  model->apply(gradient.data());
  other->apply(gradient.data());
  EXPECT_EQ(other->state_digest(), model->state_digest());
  EXPECT_EQ(logprobs(*other, Batch().chunks(1000), 16), logprobs(*model, Batch().chunks(1000), 16));
}

TEST(LanguageModel, AReplicaKeepsItsWeightsWhenTheModelMoves) {
  auto model = tiny();
  model->attach_optimizer(some_optimizer());
  const auto replica = model->copy_for_replica("f32");
  EXPECT_TRUE(replica->weights_digest() == model->weights_digest());
  EXPECT_EQ(replica->parts(), std::vector<std::string>{"parameters"});
  std::vector<float> gradient;
  objective(*model, Batch().chunks(1000), &gradient);
  model->apply(gradient.data());
  EXPECT_FALSE(replica->weights_digest() == model->weights_digest());
  replica->load("parameters", saved(*model, "parameters"));
  EXPECT_TRUE(replica->weights_digest() == model->weights_digest());
}

TEST(LanguageModel, NamesTheFirstTensorThatDiffers) {
  const auto model = tiny();
  std::vector<std::byte> bytes = saved(*model, "parameters");
  EXPECT_EQ(model->first_difference(bytes), "");
  const std::string name = "model.layers.2.mlp.up_proj.weight";
  const std::uint64_t at = SafetensorsFile(bytes, "x").at(name).file_offset;
  bytes[at] ^= std::byte{1};
  EXPECT_EQ(model->first_difference(bytes), name);
}

TEST(LanguageModel, AFileOfAnotherShapeIsRefusedBeforeAnythingChanges) {
  auto model = tiny();
  const std::string before = hex(model->weights_digest());
  std::vector<float> zeros(64 * 64);
  std::vector<TensorView> views;
  for (const ParameterSlot& slot : model->layout().slots) {
    const std::span<const float> part(model->parameters() + slot.offset, static_cast<std::size_t>(slot.count));
    views.push_back({slot.name, TensorType::f32, {slot.shape.begin(), slot.shape.end()}, std::as_bytes(part), 0});
  }
  views.back().shape = {32};
  views.back().data = views.back().data.first(32 * sizeof(float));
  VectorSink other_shape;
  write_safetensors(other_shape, views, {});
  EXPECT_THAT([&] { model->load("parameters", other_shape.bytes); },
              ThrowsMessage<FormatError>(HasSubstr("\"model.norm.weight\" at offset")));
  views.pop_back();
  VectorSink missing;
  write_safetensors(missing, views, {});
  EXPECT_THAT([&] { model->load("parameters", missing.bytes); },
              ThrowsMessage<FormatError>(HasSubstr("has no tensor \"model.norm.weight\"")));
  EXPECT_EQ(hex(model->weights_digest()), before);
}

TEST(LanguageModel, AnExportedFolderLoadsWithTheSameWeights) {
  const auto model = tiny(3);
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "rlflow_export_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  model->export_folder(folder);
  EXPECT_TRUE(CpuModel::load_folder(folder, 1)->weights_digest() == model->weights_digest());
  EXPECT_TRUE(std::filesystem::exists(folder / "tokenizer.json"));
  EXPECT_EQ(CpuModel::load_folder(folder, 1)->config().rope, model->config().rope);
  std::filesystem::resize_file(folder / "model.safetensors", 1000);
  EXPECT_THAT([&] { CpuModel::load_folder(folder, 1); }, ThrowsMessage<FormatError>(HasSubstr("cut off")));
  std::filesystem::remove(folder / "model.safetensors");
  std::ofstream(folder / "pytorch_model.bin") << "x";
  EXPECT_THAT([&] { CpuModel::load_folder(folder, 1); },
              ThrowsMessage<FormatError>(HasSubstr("pytorch_model.bin is never read")));
  std::filesystem::remove_all(folder);
}

TEST(LanguageModel, ABf16FolderIsWidenedAndExportedAsF32) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "rlflow_bf16_test";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "in");
  std::filesystem::create_directories(root / "out");
  const auto model = tiny();
  model->export_folder(root / "in");
  std::string config = model->config().json;
  config.replace(config.find("\"float32\""), 9, "\"bfloat16\"");
  std::ofstream(root / "in/config.json") << config;
  std::vector<std::vector<std::uint16_t>> halves;
  std::vector<TensorView> views;
  for (const ParameterSlot& slot : model->layout().slots) {
    halves.emplace_back(static_cast<std::size_t>(slot.count), std::uint16_t{0x3fc0});  // 1.5
    views.push_back({slot.name,
                     TensorType::bf16,
                     {slot.shape.begin(), slot.shape.end()},
                     std::as_bytes(std::span(halves.back())),
                     0});
  }
  VectorSink sink;
  write_safetensors(sink, std::move(views), {});
  std::ofstream(root / "in/model.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char*>(sink.bytes.data()), static_cast<std::streamsize>(sink.bytes.size()));
  const auto widened = CpuModel::load_folder(root / "in", 1);
  EXPECT_EQ(widened->parameters()[0], 1.5f);
  EXPECT_EQ(widened->parameters()[widened->layout().size - 1], 1.5f);
  widened->export_folder(root / "out");
  EXPECT_THAT(CpuModel::load_folder(root / "out", 1)->config().json, HasSubstr("float32"));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace rlflow
