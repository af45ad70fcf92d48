// Is a bf16 model its weights rounded, and does it train a master that is saved whole?
#include "nodes/model/bf16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "nodes/format/file.h"
#include "nodes/format/safetensors.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/weights_digest.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x3f800000)), 0x3f800000u);  // 1
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x3f807fff)), 0x3f800000u);  // just below half
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x3f808000)), 0x3f800000u);  // half, down to even
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x3f808001)), 0x3f810000u);
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x3f818000)), 0x3f820000u);  // half, up to even
  EXPECT_EQ(bf16_rounded_bits(from_bits(0xbf818000)), 0xbf820000u);
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x7f7fffff)), 0x7f800000u);  // the largest f32 is infinity
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x00000001)), 0u);
  EXPECT_EQ(bf16_rounded_bits(from_bits(0x80000000)), 0x80000000u);
  EXPECT_EQ(rounded_to_bf16(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded_to_bf16(from_bits(0x7f800001))));
  EXPECT_TRUE(std::isnan(rounded_to_bf16(from_bits(0xffffffff))));
}

std::vector<float> logprobs(const CpuModel& model) {
  const std::vector<std::int32_t> tokens{1, 4, 13, 5, 16, 6, 7, 2};
  const std::vector<std::int64_t> offsets{0, 8}, all{0};
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  std::vector<float> result(tokens.size());
  CpuPasses passes;
  passes.logprobs(model.view(), pack_examples({tokens, offsets}, mask, all, 1000), {1.0f, 2, {}}, result);
  return result;
}

std::vector<float> gradient_of(const CpuModel& model) {
  const std::vector<std::int32_t> tokens{1, 4, 13, 5, 16, 6, 7, 2};
  const std::vector<std::int64_t> offsets{0, 8}, all{0};
  const std::vector<std::uint8_t> mask(tokens.size(), 1);
  CpuPasses passes;
  const float* sum = passes.gradient(model.view(), pack_examples({tokens, offsets}, mask, all, 1000), {1.0f, 2, {}},
                                     [&](const ChunkLoss& chunk) {
                                       for (float& d : chunk.dlogprob) d = -1.0f;
                                     });
  return {sum, sum + model.trained_slots().size};
}

AdamWSettings optimizer(double rate) {
  AdamWSettings settings;
  settings.schedule.peak = rate;
  return settings;
}

std::vector<std::byte> saved(const CpuModel& model, const char* part) {
  VectorSink sink;
  model.save(part, sink);
  return sink.bytes;
}

bool rounded(const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if ((std::bit_cast<std::uint32_t>(values[i]) & 0xffff) != 0) return false;
  }
  return true;
}

TEST(Bf16, AModelIsItsWeightsRounded) {
  const auto exact = CpuModel::load_folder(kTiny, 2);
  const auto model = CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16});
  const std::int64_t size = model->layout().size;
  ASSERT_FALSE(rounded(exact->parameters(), size));
  for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(model->parameters()[i], rounded_to_bf16(exact->parameters()[i]));
  EXPECT_NE(logprobs(*model), logprobs(*exact));
  // Its digest is of the 16 bits that bf16 stores.
  WeightsDigest expected;
  for (const ParameterSlot& slot : model->layout().slots) {
    for (std::int64_t i = 0; i < slot.count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(model->parameters()[slot.offset + i]) >> 16;
      expected += mix128(tensor_id(slot.name), static_cast<std::uint64_t>(i), bits);
    }
  }
  EXPECT_TRUE(model->weights_digest() == expected);
}

TEST(Bf16, ReplicasOfEitherDtype) {
  const auto exact = CpuModel::load_folder(kTiny, 2);
  const auto model = CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16});
  const auto of_exact = exact->copy_for_replica("bf16"), of_model = model->copy_for_replica("bf16");
  EXPECT_TRUE(of_exact->weights_digest() == model->weights_digest());
  EXPECT_TRUE(of_model->weights_digest() == model->weights_digest());
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*of_exact)), logprobs(*model));
  EXPECT_EQ(logprobs(dynamic_cast<const CpuModel&>(*model->copy_for_replica("f32"))), logprobs(*model));
}

TEST(Bf16, TheMasterMovesByStepsThatRoundingWouldLose) {
  const auto model = CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16});
  model->attach_optimizer(optimizer(1e-5));
  const WeightsDigest before = model->weights_digest();
  const std::vector<float> start(model->parameters(), model->parameters() + model->layout().size);
  std::int64_t moved = 0;
  for (int step = 0; step < 400; ++step) ASSERT_TRUE(model->apply(gradient_of(*model).data()).applied);
  const std::int64_t size = model->layout().size;
  EXPECT_TRUE(rounded(model->parameters(), size));
  for (std::int64_t i = 0; i < size; ++i) {
    ASSERT_EQ(model->parameters()[i], rounded_to_bf16(model->trained()[i]));
    moved += model->parameters()[i] != start[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  EXPECT_GT(moved, size / 10);
  EXPECT_FALSE(model->weights_digest() == before);
}

TEST(Bf16, ASavedModelGoesOnToTheBit) {
  const auto model = CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16});
  const auto again = CpuModel::load_folder(kTiny, 1, {Head::lm, Dtype::bf16});
  model->attach_optimizer(optimizer(1e-4));
  again->attach_optimizer(optimizer(1e-4));
  for (int step = 0; step < 3; ++step) model->apply(gradient_of(*model).data());
  const Digest at_first = again->state_digest();
  for (const char* part : {"parameters", "optimizer"}) again->load(part, saved(*model, part));
  EXPECT_NE(again->state_digest(), at_first);
  EXPECT_EQ(again->state_digest(), model->state_digest());
  for (int step = 0; step < 3; ++step) {
    model->apply(gradient_of(*model).data());
    again->apply(gradient_of(*again).data());
  }
  EXPECT_EQ(again->state_digest(), model->state_digest());
  EXPECT_EQ(again->first_difference(saved(*model, "parameters")), "");
  // The master is saved in f32.
  const std::vector<std::byte> bytes = saved(*model, "parameters");
  const SafetensorsFile file(bytes, "saved");
  EXPECT_EQ(file.tensors().front().type, TensorType::f32);
}

TEST(Bf16, AMasterThatDiffersBelowRoundingIsAnotherState) {
  const auto model = CpuModel::load_folder(kTiny, 1, {Head::lm, Dtype::bf16});
  model->attach_optimizer(optimizer(1e-11));
  const Digest state = model->state_digest();
  const WeightsDigest weights = model->weights_digest();
  std::vector<float> gradient(static_cast<std::size_t>(model->layout().size), 1.0f);
  // Moments are other too, so the optimizer's part is put back: what remains is the master.
  const std::vector<std::byte> moments = saved(*model, "optimizer");
  ASSERT_TRUE(model->apply(gradient.data()).applied);
  model->load("optimizer", moments);
  EXPECT_TRUE(model->weights_digest() == weights);
  EXPECT_NE(model->state_digest(), state);
}

TEST(Bf16, ExportsBf16) {
  const std::filesystem::path folder = std::filesystem::path(RLFLOW_BINARY_DIR) / "bf16_export";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto model = CpuModel::load_folder(kTiny, 2, {Head::lm, Dtype::bf16});
  model->export_folder(folder);
  const MappedFile mapped(folder / "model.safetensors");
  const SafetensorsFile file(mapped.bytes(), "exported");
  for (const TensorView& tensor : file.tensors()) {
    EXPECT_EQ(tensor.type, TensorType::bf16) << tensor.name;
  }
  const auto again = CpuModel::load_folder(folder, 2);
  EXPECT_EQ(std::memcmp(again->parameters(), model->parameters(),
                        sizeof(float) * static_cast<std::size_t>(model->layout().size)),
            0);
  EXPECT_THAT(again->config().json, HasSubstr("\"torch_dtype\": \"bfloat16\""));
}

}  // namespace
}  // namespace rlflow
