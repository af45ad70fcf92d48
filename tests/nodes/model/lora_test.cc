// Are adapters all that is trained, merged for every reader, and saved whole?
#include "nodes/model/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/safetensors.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/tensor_file.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";
const std::vector<std::string> kAll = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

ModelForm form_of(std::vector<std::string> targets, Dtype dtype = Dtype::f32) {
  ModelForm form(Head::lm, dtype);
  form.lora = LoraSettings{.rank = 4, .alpha = 8, .targets = std::move(targets), .seed = 7};
  return form;
}

std::vector<float> logprobs(const CpuModel& model) {
  const std::vector<std::int32_t> tokens{1, 4, 13, 5, 16, 6, 7, 2, 1, 9, 9, 13, 3, 16, 11, 2};
  const std::vector<std::int64_t> offsets{0, 8, 16}, all{0, 1};
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, 1000);
  std::vector<float> result(tokens.size());
  CpuPasses passes;
  passes.logprobs(model.view(), chunks, {1.0f, 2, {}}, result);
  return result;
}

std::vector<float> gradient_of(const CpuModel& model) {
  const std::vector<std::int32_t> tokens{1, 4, 13, 5, 16, 6, 7, 2, 1, 9, 9, 13, 3, 16, 11, 2};
  const std::vector<std::int64_t> offsets{0, 8, 16}, all{0, 1};
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, 8);
  CpuPasses passes;
  const float* sum = passes.gradient(model.view(), chunks, {1.0f, 2, {}}, [&](const ChunkLoss& chunk) {
    for (std::size_t i = 0; i < chunk.dlogprob.size(); ++i) chunk.dlogprob[i] = i % 3 == 0 ? -1.0f : 0.5f;
  });
  return {sum, sum + model.trained_slots().size};
}

std::vector<std::byte> saved(const CpuModel& model, const char* part) {
  VectorSink sink;
  model.save(part, sink);
  return sink.bytes;
}

void train(CpuModel& model, int steps) {
  for (int i = 0; i < steps; ++i) ASSERT_TRUE(model.apply(gradient_of(model).data()).applied);
}

AdamWSettings optimizer() {
  AdamWSettings settings;
  settings.schedule.peak = 1e-2;
  return settings;
}

TEST(Lora, AnAdapterStandsAtEachTargetUnderItsNameInPeft) {
  const AdapterLayout layout(read_model_config(kTiny), *form_of({"v_proj", "q_proj", "down_proj"}).lora);
  ASSERT_EQ(layout.slots.size(), 4 * 3 * 2u);
  EXPECT_EQ(layout.slots[0].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(layout.slots[0].shape, (std::vector<std::int64_t>{4, 64}));
  EXPECT_EQ(layout.slots[1].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  EXPECT_EQ(layout.slots[1].shape, (std::vector<std::int64_t>{64, 4}));
  EXPECT_EQ(layout.slots[3].shape, (std::vector<std::int64_t>{32, 4}));
  EXPECT_EQ(layout.slots[4].name, "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight");
  EXPECT_EQ(layout.slots[4].shape, (std::vector<std::int64_t>{4, 192}));
  EXPECT_EQ(layout.size, 4 * 4 * ((64 + 64) + (64 + 32) + (192 + 64)));
  // The fused matrix of a layer holds q [64], k [32], v [32] one after the other.
  EXPECT_EQ(layout.layers[0].query_key_value[1].first, 96);
  EXPECT_EQ(layout.scale, 2);
}

TEST(Lora, ItBeginsAsItsBaseWithAUniformAAndAZeroB) {
  const auto base = CpuModel::load_folder(kTiny, 2);
  const auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll));
  EXPECT_EQ(logprobs(*model), logprobs(*base));
  double sum = 0, squares = 0, largest = 0, count = 0;
  for (const ParameterSlot& slot : model->trained_slots().slots) {
    const double bound = 1 / std::sqrt(static_cast<double>(slot.shape[1]));
    for (std::int64_t i = slot.offset; i < slot.offset + slot.count; ++i) {
      const double value = model->trained()[i];
      if (slot.name.ends_with("lora_B.weight")) {
        ASSERT_EQ(value, 0) << slot.name;
        continue;
      }
      ASSERT_LE(std::abs(value), bound) << slot.name;
      sum += value / bound, squares += value / bound * (value / bound), count += 1;
      largest = std::max(largest, std::abs(value) / bound);
    }
  }
  // A uniform number of (-1, 1) has mean 0 and mean square 1/3.
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(3 * count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.02);
  EXPECT_GT(largest, 0.99);
  ModelForm other = form_of(kAll);
  other.lora->seed = 8;
  EXPECT_FALSE(CpuModel::load_folder(kTiny, 2, other)->weights_digest() == model->weights_digest());
}

TEST(Lora, OnlyAdaptersAreTrainedAndEveryReaderHasThemMerged) {
  const auto base = CpuModel::load_folder(kTiny, 2);
  const auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll));
  const std::unique_ptr<LanguageModel> ref = model->base();
  model->attach_optimizer(optimizer());
  train(*model, 3);
  const std::vector<float> after = logprobs(*model);
  EXPECT_NE(after, logprobs(*base));
  // The base is what it was, in the same memory.
  const auto& frozen = dynamic_cast<const CpuModel&>(*ref);
  EXPECT_EQ(logprobs(frozen), logprobs(*base));
  EXPECT_TRUE(frozen.weights_digest() == base->weights_digest());
  EXPECT_EQ(frozen.parameters(), model->parameters());
  // A replica answers to the bit as the model that is trained, and is known by the same digest.
  const auto replica = model->copy_for_replica("f32");
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*replica)), after);
  EXPECT_TRUE(replica->weights_digest() == model->weights_digest());
  train(*model, 1);
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*replica)), after);
  EXPECT_NE(logprobs(*model), after);
}

TEST(Lora, TheBaseOutlivesTheModel) {
  auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll));
  const std::vector<float> expected = logprobs(*model);
  const std::unique_ptr<LanguageModel> ref = model->base();
  model.reset();
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*ref)), expected);
}

TEST(Lora, TheGradientOfEveryAdapterIsItsSlope) {
  const auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll));
  model->attach_optimizer(optimizer());
  train(*model, 20);  // so that B is not 0
  const std::vector<float> gradient = gradient_of(*model);
  const std::vector<float> start(model->trained(), model->trained() + model->trained_slots().size);
  const auto loss_with = [&](const std::vector<float>& values) {
    VectorSink sink;
    write_safetensors(sink, slot_views(model->trained_slots(), values.data(), ""), {});
    model->load("parameters", sink.bytes);
    const std::vector<float> logprob = logprobs(*model);
    double loss = 0;
    std::size_t target = 0;
    for (std::size_t t = 0; t < logprob.size(); ++t) {
      if (t % 8 == 0) {
        target = 0;
        continue;
      }
      loss += logprob[t] * (target++ % 3 == 0 ? -1.0 : 0.5);
    }
    return loss;
  };
  for (const ParameterSlot& slot : model->trained_slots().slots) {
    double norm = 0;
    for (std::int64_t i = slot.offset; i < slot.offset + slot.count; ++i) {
      norm += std::pow(static_cast<double>(gradient[static_cast<std::size_t>(i)]), 2);
    }
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << slot.name;
    const auto moved = [&](double by) {
      std::vector<float> values = start;
      for (std::int64_t i = slot.offset; i < slot.offset + slot.count; ++i) {
        values[static_cast<std::size_t>(i)] += static_cast<float>(by * gradient[static_cast<std::size_t>(i)] / norm);
      }
      return loss_with(values);
    };
    const double step = 1e-2;
    // Losses in f32 are apart by little more than their rounding; oracle_lora_parity_test is the exact comparison.
    EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step) / norm, 1, 5e-2) << slot.name;
  }
}

TEST(Lora, ASavedModelGoesOnToTheBit) {
  const auto model = CpuModel::load_folder(kTiny, 2, form_of({"q_proj", "v_proj"}));
  model->attach_optimizer(optimizer());
  train(*model, 2);
  const auto again = CpuModel::load_folder(kTiny, 1, form_of({"q_proj", "v_proj"}));
  again->attach_optimizer(optimizer());
  ASSERT_EQ(model->parts(), (std::vector<std::string>{"parameters", "optimizer"}));
  for (const char* part : {"parameters", "optimizer"}) again->load(part, saved(*model, part));
  EXPECT_EQ(again->state_digest(), model->state_digest());
  EXPECT_EQ(again->first_difference(saved(*model, "parameters")), "");
  EXPECT_EQ(logprobs(*again), logprobs(*model));
  train(*model, 2);
  train(*again, 2);
  EXPECT_EQ(again->state_digest(), model->state_digest());
  EXPECT_EQ(
      again->first_difference(saved(*CpuModel::load_folder(kTiny, 1, form_of({"q_proj", "v_proj"})), "parameters")),
      "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  // The files hold the adapters and nothing of the base.
  const std::vector<std::byte> bytes = saved(*model, "parameters");
  EXPECT_EQ(SafetensorsFile(bytes, "saved").tensors().size(), model->trained_slots().slots.size());
}

TEST(Lora, ACheckpointOfAnotherShapeIsRefused) {
  const auto model = CpuModel::load_folder(kTiny, 1, form_of({"q_proj"}));
  const auto whole = saved(*CpuModel::load_folder(kTiny, 1), "parameters");
  EXPECT_THAT([&] { model->load("parameters", whole); }, ThrowsMessage<FormatError>(HasSubstr("lora_A")));
  const auto more = saved(*CpuModel::load_folder(kTiny, 1, form_of({"q_proj", "v_proj"})), "parameters");
  EXPECT_THAT([&] { model->load("parameters", more); },
              ThrowsMessage<FormatError>(HasSubstr("v_proj.lora_A.weight\" does not belong to this model")));
}

TEST(Lora, WhatDoesNotFitIsRefused) {
  ModelForm form = form_of({"q_proj", "k_proj"});
  form.lora->rank = 33;
  EXPECT_THAT(
      [&] { CpuModel::load_folder(kTiny, 1, form); },
      ThrowsMessage<std::runtime_error>(HasSubstr("rank 33 is more than a side of `k_proj`, which is 32 x 64")));
  EXPECT_THAT([&] { CpuModel::load_folder(kTiny, 1, form_of({"lm_head"})); },
              ThrowsMessage<std::runtime_error>(HasSubstr("no linear layer `lm_head`")));
}

TEST(Lora, MergedItIsAModelOfItsOwn) {
  const std::filesystem::path root = std::filesystem::path(RLFLOW_BINARY_DIR) / "lora";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "merged");
  std::filesystem::create_directories(root / "adapter");
  const auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll));
  model->attach_optimizer(optimizer());
  train(*model, 3);
  model->export_merged(root / "merged");
  EXPECT_EQ(logprobs(*CpuModel::load_folder(root / "merged", 2)), logprobs(*model));
  model->export_folder(root / "adapter");
  EXPECT_TRUE(std::filesystem::exists(root / "adapter/tokenizer.json"));
  const nlohmann::json config = parse_json(read_text_file(root / "adapter/adapter_config.json", 1 << 16), "config");
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["lora_alpha"], 8);
  EXPECT_EQ(config["base_model_name_or_path"], kTiny.string());
  const MappedFile file(root / "adapter/adapter_model.safetensors");
  EXPECT_EQ(model->first_difference(file.bytes()), "");
  // Adapters of a base that was drawn fit no folder.
  EXPECT_THAT([&] { CpuModel::draw(kTiny, 1, 1, form_of(kAll))->export_folder(root / "adapter"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("export it merged")));
}

TEST(Lora, MemoryOfTheBaseIsSharedByReplicas) {
  const auto model = CpuModel::load_folder(kTiny, 2, form_of({"q_proj"}));
  const auto replica = model->copy_for_replica("f32");
  const auto& copy = dynamic_cast<const CpuModel&>(*replica);
  EXPECT_EQ(copy.parameters(), model->parameters());
  const TransformerView ours = model->view(), theirs = copy.view();
  EXPECT_EQ(ours.panels.panels(ours.panels.layer(0).down), theirs.panels.panels(theirs.panels.layer(0).down));
  EXPECT_NE(ours.panels.panels(ours.panels.layer(0).query_key_value),
            theirs.panels.panels(theirs.panels.layer(0).query_key_value));
}

TEST(Lora, OfABf16BaseTheSumIsRounded) {
  const auto model = CpuModel::load_folder(kTiny, 2, form_of(kAll, Dtype::bf16));
  EXPECT_EQ(logprobs(*model), logprobs(*CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16})));
  model->attach_optimizer(optimizer());
  train(*model, 5);
  const std::filesystem::path folder = std::filesystem::path(RLFLOW_BINARY_DIR) / "lora_bf16";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  model->export_merged(folder);
  EXPECT_EQ(logprobs(*CpuModel::load_folder(folder, 2)), logprobs(*model));
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*model->copy_for_replica("bf16"))), logprobs(*model));
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*model->copy_for_replica("f32"))), logprobs(*model));
  EXPECT_TRUE(model->copy_for_replica("bf16")->weights_digest() == model->weights_digest());
}

}  // namespace
}  // namespace rlflow
