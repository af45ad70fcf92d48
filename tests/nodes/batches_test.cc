// Does every payload come back from its bytes as it was, and are damaged bytes refused?
#include "nodes/batches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "nodes/format/format_error.h"

namespace rlflow {
namespace {

std::vector<std::byte> bytes_of(const Payload& payload) {
  VectorSink sink;
  payload.write(sink);
  return sink.bytes;
}
std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
std::shared_ptr<const T> round_trip(const T& payload) {
  const std::vector<std::byte> bytes = bytes_of(payload);
  auto read = std::dynamic_pointer_cast<const T>(read_batch(payload.kind(), bytes));
  EXPECT_TRUE(read);
  EXPECT_EQ(bytes_of(*read), bytes) << "written again, the bytes differ";
  return read;
}

Prompts two_prompts() {
  Prompts prompts;
  prompts.tokens.push_row(std::vector<std::int32_t>{1, 5, 6});
  prompts.tokens.push_row(std::vector<std::int32_t>{1});
  prompts.source_row = {7, 9};
  prompts.text = {"2+3=", ""};
  prompts.answer = {"5", "ä\n\"x\""};
  return prompts;
}

// Three responses of 2, 0 and 1 tokens for the two prompts.
BatchPtr three_responses() {
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0, 1};
  batch->offsets = {0, 2, 2, 3};
  batch->mask = {1, 1, 0};
  batch->finish = {0, 1, 0};
  batch->temperature = 0.7;
  return batch;
}

Rollouts three_rollouts() {
  Rollouts rollouts;
  rollouts.batch = three_responses();
  rollouts.prompts = std::make_shared<Prompts>(two_prompts());
  rollouts.tokens = {8, 2, 2};
  rollouts.logprob = {-0.5f, 0.0f, -std::numeric_limits<float>::min()};
  rollouts.version = 41;
  return rollouts;
}

void expect_equal(const BatchDescriptor& a, const BatchDescriptor& b) {
  EXPECT_EQ(a.group, b.group);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.mask, b.mask);
  EXPECT_EQ(a.finish, b.finish);
  EXPECT_EQ(a.temperature, b.temperature);
}

TEST(Batches, PromptsComeBack) {
  const auto read = round_trip(two_prompts());
  EXPECT_EQ(read->tokens.tokens, (std::vector<std::int32_t>{1, 5, 6, 1}));
  EXPECT_EQ(read->tokens.offsets, (std::vector<std::int64_t>{0, 3, 4}));
  EXPECT_EQ(read->source_row, (std::vector<std::int64_t>{7, 9}));
  EXPECT_EQ(read->text, two_prompts().text);
  EXPECT_EQ(read->answer, two_prompts().answer);
}

TEST(Batches, ExamplesComeBack) {
  Examples examples;
  examples.tokens.push_row(std::vector<std::int32_t>{1, 5, 2});
  examples.loss_mask = {0, 1, 1};
  examples.source_row = {3};
  const auto read = round_trip(examples);
  EXPECT_EQ(read->tokens.tokens, examples.tokens.tokens);
  EXPECT_EQ(read->loss_mask, examples.loss_mask);
  EXPECT_EQ(read->source_row, examples.source_row);
}

TEST(Batches, RolloutsComeBack) {
  const Rollouts rollouts = three_rollouts();
  const auto read = round_trip(rollouts);
  expect_equal(*read->batch, *rollouts.batch);
  EXPECT_EQ(read->tokens, rollouts.tokens);
  EXPECT_EQ(read->logprob, rollouts.logprob);
  EXPECT_EQ(read->version, 41);
  EXPECT_EQ(read->prompts->answer, rollouts.prompts->answer);
}

TEST(Batches, NumbersComeBack) {
  for (Kind kind : {Kind::reward, Kind::logp, Kind::value, Kind::adv, Kind::returns}) {
    for (bool per_token : {false, true}) {
      const Numbers numbers(kind, three_responses(), per_token, {1, -0.0f, 3});
      const auto read = round_trip(numbers);
      EXPECT_EQ(read->kind(), kind);
      EXPECT_EQ(read->per_token, per_token);
      EXPECT_EQ(read->data, numbers.data);
      expect_equal(*read->batch, *numbers.batch);
    }
  }
}

TEST(Batches, EmptyOnesComeBack) {
  round_trip(Prompts{});
  round_trip(Examples{});
  const auto read = round_trip(Numbers(Kind::adv, std::make_shared<BatchDescriptor>(), false, {}));
  EXPECT_EQ(read->batch->size(), 0u);
}

TEST(Batches, ScalarsMetricsAndCursorsAreJson) {
  EXPECT_EQ(round_trip(Scalar(0.1))->value, 0.1);
  EXPECT_EQ(text_of(bytes_of(Scalar(2))), "{\"format\": \"rlflow.scalar/1\", \"value\": 2}\n");
  EXPECT_EQ(round_trip(Scalar(-std::numeric_limits<double>::infinity()))->value,
            -std::numeric_limits<double>::infinity());
  Metrics metrics;
  metrics.values = {{"reward/mean", 0.25}, {"loss", std::nan("")}};
  const auto read = round_trip(metrics);
  ASSERT_EQ(read->values.size(), 2u);
  EXPECT_EQ(read->values[0].first, "loss");  // sorted
  EXPECT_TRUE(std::isnan(read->values[0].second));
  EXPECT_EQ(read->values[1], (std::pair<std::string, double>{"reward/mean", 0.25}));
  Cursor cursor;
  cursor.epoch = 2;
  cursor.offset = 5;
  EXPECT_EQ(text_of(bytes_of(cursor)), "{\"format\": \"rlflow.cursor/1\", \"epoch\": 2, \"offset\": 5}\n");
  EXPECT_EQ(round_trip(cursor)->offset, 5);
}

// The message of the refusal; empty where the bytes were read.
std::string refusal(Kind kind, const std::vector<std::byte>& bytes) {
  try {
    read_batch(kind, bytes);
    return {};
  } catch (const FormatError& error) {
    return error.what();
  }
}

TEST(Batches, AnotherKindIsRefused) {
  EXPECT_EQ(refusal(Kind::reward, bytes_of(Numbers(Kind::adv, three_responses(), false, {1, 2, 3}))),
            "reward artifact: its format is `rlflow.adv/1`, expected `rlflow.reward/1`");
}

TEST(Batches, TruncatedBytesAreRefused) {
  for (const std::vector<std::byte>& whole : {bytes_of(three_rollouts()), bytes_of(two_prompts())}) {
    const Kind kind = whole == bytes_of(two_prompts()) ? Kind::prompts : Kind::traj;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(refusal(kind, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}), "") << length;
    }
  }
}

// The bytes of `rollouts` with one field broken, as read back.
template <class Break>
std::string refusal_of(Break break_it) {
  Rollouts rollouts = three_rollouts();
  auto batch = std::make_shared<BatchDescriptor>(*rollouts.batch);
  break_it(rollouts, *batch);
  rollouts.batch = batch;
  return refusal(Kind::traj, bytes_of(rollouts));
}

TEST(Batches, FieldsThatDisagreeAreRefused) {
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor&) {}), "");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.offsets = {0, 2, 1, 3};
            }),
            "traj artifact: `batch.offsets` do not tile the response tokens");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.offsets = {0, 3};
            }),
            "traj artifact: `batch.offsets` do not tile the response tokens");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.group = {0, 1, 0};
            }),
            "traj artifact: `batch.group` is not ascending");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.group = {0, 1, 2};
            }),
            "traj artifact: `batch.group` names a prompt that is not there");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.finish = {0, 2, 0};
            }),
            "traj artifact: `batch.finish` is not one of 0, 1 a response");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) {
              b.mask = {1, 1, 7};
            }),
            "traj artifact: `batch.mask` holds more than 0 and 1");
  EXPECT_EQ(refusal_of([](Rollouts&, BatchDescriptor& b) { b.temperature = -1; }),
            "traj artifact: `temperature` is negative");
  EXPECT_EQ(refusal_of([](Rollouts& r, BatchDescriptor&) { r.tokens.pop_back(); }),
            "traj artifact: its response tokens differ in number");
  EXPECT_EQ(refusal_of([](Rollouts& r, BatchDescriptor&) { r.tokens[0] = -1; }),
            "traj artifact: `tokens` holds a negative token id");
  EXPECT_EQ(refusal_of([](Rollouts& r, BatchDescriptor&) {
              auto prompts = std::make_shared<Prompts>(*r.prompts);
              prompts->source_row.pop_back();
              r.prompts = prompts;
            }),
            "traj artifact: its prompts differ in number");
}

TEST(Batches, BrokenJsonIsRefused) {
  for (const char* text : {"", "{}", "[]", "{\"format\": \"rlflow.cursor/1\", \"epoch\": 1}",
                           "{\"format\": \"rlflow.cursor/1\", \"epoch\": -1, \"offset\": 0}",
                           "{\"format\": \"rlflow.cursor/1\", \"epoch\": 1.5, \"offset\": 0}",
                           "{\"format\": \"rlflow.cursor/1\", \"epoch\": 18446744073709551615, \"offset\": 0}",
                           "{\"format\": \"rlflow.cursor/1\", \"epoch\": 1, \"offset\": 0, \"more\": 0}",
                           "{\"format\": \"rlflow.cursor/2\", \"epoch\": 1, \"offset\": 0}"}) {
    EXPECT_NE(refusal(Kind::cursor, bytes_of(std::string(text))), "") << text;
  }
  EXPECT_NE(refusal(Kind::scalar, bytes_of(std::string("{\"format\": \"rlflow.scalar/1\", \"value\": \"many\"}"))), "");
  EXPECT_NE(refusal(Kind::metrics, bytes_of(std::string("{\"format\": \"rlflow.metrics/1\", \"values\": []}"))), "");
}

TEST(BatchesDeathTest, NumbersOfAnotherLengthAreAProgrammersMistake) {
  EXPECT_DEATH(Numbers(Kind::adv, three_responses(), false, {1, 2}), "adv holds 2 numbers for 3");
}

}  // namespace
}  // namespace rlflow
