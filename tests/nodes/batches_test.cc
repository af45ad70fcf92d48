// Do payloads read back what they wrote, and are damaged bytes refused by name?
#include "nodes/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "nodes/format/safetensors.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(const Payload& payload) {
  VectorSink sink;
  payload.write(sink);
  return sink.bytes;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const Payload& payload) {
  std::vector<std::byte> bytes = bytes_of(payload);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of what read_batch throws; empty if it reads.
std::string refusal(Kind kind, std::span<const std::byte> bytes) {
  try {
    read_batch(kind, bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

Prompts two_prompts() {
  Prompts prompts;
  prompts.tokens.push_row(std::vector<std::int32_t>{1, 3, 4});
  prompts.tokens.push_row(std::vector<std::int32_t>{1, 5});
  prompts.source_row = {7, 8};
  prompts.text = {"01", ""};
  prompts.answer = {"ä\n\"x\"", "9"};
  return prompts;
}

// Three responses of 2, 0 and 1 tokens to prompts 0, 0 and 1.
BatchDescriptor three_responses() {
  BatchDescriptor batch;
  batch.group = {0, 0, 1};
  batch.offsets = {0, 2, 2, 3};
  batch.mask = {1, 1, 0};
  batch.finish = {0, 1, 0};
  batch.temperature = 0.7;
  return batch;
}

Rollouts rollouts() {
  Rollouts traj;
  traj.batch = std::make_shared<BatchDescriptor>(three_responses());
  traj.prompts = std::make_shared<Prompts>(two_prompts());
  traj.tokens = {9, 2, 2};
  traj.logprob = {-0.5f, -1.25f, -0.0f};
  traj.version = 12;
  return traj;
}

Examples examples() {
  Examples rows;
  rows.tokens.push_row(std::vector<std::int32_t>{1, 3, 2});
  rows.loss_mask = {0, 1, 1};
  rows.source_row = {41};
  return rows;
}

Pairs one_pair() {
  auto batch = std::make_shared<BatchDescriptor>();
  batch->group = {0, 0};
  batch->offsets = {0, 2, 3};
  batch->mask = {1, 1, 1};
  batch->finish = {0, 0};
  Pairs pairs;
  pairs.batch = batch;
  pairs.prompts.push_row(std::vector<std::int32_t>{1, 3});
  pairs.tokens = {4, 2, 2};
  pairs.source_row = {5};
  return pairs;
}

void expect_round_trip(const Payload& payload) {
  const std::vector<std::byte> bytes = bytes_of(payload);
  PayloadPtr read = read_batch(payload.kind(), bytes);
  EXPECT_EQ(read->kind(), payload.kind());
  EXPECT_EQ(bytes_of(*read), bytes);
  EXPECT_GT(read->memory_bytes(), 0u);
}

TEST(Batches, EveryPayloadReadsBackItsOwnBytes) {
  expect_round_trip(two_prompts());
  expect_round_trip(Prompts{});
  expect_round_trip(Examples{});
  expect_round_trip(Numbers(Kind::adv, std::make_shared<BatchDescriptor>(), false, {}));
  expect_round_trip(examples());
  expect_round_trip(rollouts());
  expect_round_trip(one_pair());
  auto batch = std::make_shared<BatchDescriptor>(three_responses());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Kind kind : {Kind::reward, Kind::logp, Kind::value, Kind::adv, Kind::returns}) {
    expect_round_trip(Numbers(kind, batch, false, {1, 0, nan}));
    expect_round_trip(Numbers(kind, batch, true, {1, 2, 3}));
  }
  for (double value : {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, std::nan(""), -HUGE_VAL}) expect_round_trip(Scalar(value));
  Metrics metrics;
  metrics.values = {{"reward/mean", 0.5}, {"grad_norm", HUGE_VAL}, {"lr", 0}};
  expect_round_trip(metrics);
  Cursor cursor;
  cursor.epoch = 2;
  cursor.offset = INT64_MAX;
  expect_round_trip(cursor);
}

TEST(Batches, ATrajectoryIsSelfContained) {
  auto read = std::dynamic_pointer_cast<const Rollouts>(read_batch(Kind::traj, bytes_of(rollouts())));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->prompts->text, (std::vector<std::string>{"01", ""}));
  EXPECT_EQ(read->prompts->answer, (std::vector<std::string>{"ä\n\"x\"", "9"}));
  EXPECT_EQ(read->prompts->source_row, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(read->prompts->tokens.offsets, (std::vector<std::int64_t>{0, 3, 5}));
  EXPECT_EQ(read->batch->group, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(read->batch->length(1), 0);
  EXPECT_EQ(read->batch->temperature, 0.7);
  EXPECT_EQ(read->tokens, (std::vector<std::int32_t>{9, 2, 2}));
  EXPECT_EQ(read->logprob[1], -1.25f);
  EXPECT_EQ(read->version, 12);
}

// Version 2 is what version 1 cannot say; what it can say keeps its bytes.
TEST(Batches, StopTextsMakeVersion2AndNothingElseDoes) {
  BatchDescriptor stopped = three_responses();
  stopped.stop = {"\n\n", "ä\""};
  stopped.finish = {2, 1, 0};
  Rollouts traj = rollouts();
  EXPECT_THAT(text_of(traj), HasSubstr("rlflow.traj/1"));
  traj.batch = std::make_shared<BatchDescriptor>(stopped);
  EXPECT_THAT(text_of(traj), HasSubstr("rlflow.traj/2"));
  expect_round_trip(traj);
  expect_round_trip(Numbers(Kind::reward, traj.batch, false, {1, 2, 3}));
  auto read = std::dynamic_pointer_cast<const Rollouts>(read_batch(Kind::traj, bytes_of(traj)));
  EXPECT_EQ(read->batch->stop, stopped.stop);
  EXPECT_EQ(read->batch->finish, stopped.finish);
  stopped.stop.clear();
  traj.batch = std::make_shared<BatchDescriptor>(stopped);
  EXPECT_THAT(refusal(Kind::traj, bytes_of(traj)), HasSubstr("\"batch.finish\" holds 2 at element 0, outside 0..1"));
  stopped.stop = {""};
  traj.batch = std::make_shared<BatchDescriptor>(stopped);
  EXPECT_THAT(refusal(Kind::traj, bytes_of(traj)), HasSubstr("\"stop\" is not a list of texts"));
}

TEST(Batches, NumbersCarryTheirBatch) {
  auto batch = std::make_shared<BatchDescriptor>(three_responses());
  const Numbers written(Kind::adv, batch, true, {1, 2, 3});
  auto read = std::dynamic_pointer_cast<const Numbers>(read_batch(Kind::adv, bytes_of(written)));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->per_token);
  EXPECT_EQ(read->batch->offsets, batch->offsets);
  EXPECT_EQ(read->batch->mask, batch->mask);
  EXPECT_EQ(read->batch->finish, batch->finish);
}

TEST(Batches, NumbersAreJsonWithFormatFirstAndNamesSorted) {
  EXPECT_EQ(text_of(Scalar(1)), R"({"format":"rlflow.scalar/1","value":1.0})");
  EXPECT_EQ(text_of(Scalar(-0.0)), R"({"format":"rlflow.scalar/1","value":-0.0})");
  EXPECT_EQ(text_of(Cursor()), R"({"format":"rlflow.cursor/1","epoch":0,"offset":0})");
  Metrics metrics;
  metrics.values = {{"lr", 1e-4}, {"grad_norm", -HUGE_VAL}};
  EXPECT_EQ(text_of(metrics), R"({"format":"rlflow.metrics/1","grad_norm":"-Infinity","lr":1e-04})");
}

TEST(Batches, ScalarsKeepTheirBits) {
  for (double value : {0.1, -0.0, 1.0 / 3, 1e22, 5e-324}) {
    auto read = std::dynamic_pointer_cast<const Scalar>(read_batch(Kind::scalar, bytes_of(Scalar(value))));
    EXPECT_EQ(std::signbit(read->value), std::signbit(value));
    EXPECT_EQ(read->value, value);
  }
}

TEST(Batches, AnotherKindIsRefusedByName) {
  const std::string message = refusal(Kind::prompts, bytes_of(rollouts()));
  EXPECT_THAT(message, HasSubstr("rlflow.prompts/1"));
  EXPECT_THAT(message, HasSubstr("rlflow.traj/1"));
  auto batch = std::make_shared<BatchDescriptor>(three_responses());
  EXPECT_THAT(refusal(Kind::adv, bytes_of(Numbers(Kind::reward, batch, false, {1, 2, 3}))),
              HasSubstr("rlflow.reward/1"));
  EXPECT_THAT(refusal(Kind::cursor, bytes_of(Scalar(1))), HasSubstr("rlflow.scalar/1"));
  EXPECT_THAT(refusal(Kind::pairs, bytes_of(two_prompts())), HasSubstr("rlflow.pairs/1"));
}

TEST(Batches, PairsThatAreNoneAreRefused) {
  const auto damaged = [](const std::function<void(BatchDescriptor&)>& damage) {
    Pairs pairs = one_pair();
    auto batch = std::make_shared<BatchDescriptor>(*pairs.batch);
    damage(*batch);
    pairs.batch = batch;
    return refusal(Kind::pairs, bytes_of(pairs));
  };
  EXPECT_THAT(damaged([](BatchDescriptor& batch) { batch.group = {0, 1}; }), HasSubstr("is not of its pair"));
  EXPECT_THAT(damaged([](BatchDescriptor& batch) {
                batch.group = {0};
                batch.finish = {0};
                batch.offsets = {0, 3};
              }),
              HasSubstr("1 responses for 1 pairs"));
}

TEST(Batches, EveryTruncationIsRefused) {
  const std::vector<std::byte> traj = bytes_of(rollouts());
  for (std::size_t size = 0; size < traj.size(); ++size) {
    EXPECT_NE(refusal(Kind::traj, std::span(traj).first(size)), "") << size;
  }
  const std::vector<std::byte> cursor = bytes_of(Cursor());
  for (std::size_t size = 0; size < cursor.size(); ++size) {
    EXPECT_NE(refusal(Kind::cursor, std::span(cursor).first(size)), "") << size;
  }
}

// The message for a trajectory that was changed before it was written.
std::string refusal_of(const std::function<void(Rollouts&, BatchDescriptor&, Prompts&)>& damage) {
  Rollouts traj = rollouts();
  auto batch = std::make_shared<BatchDescriptor>(*traj.batch);
  auto prompts = std::make_shared<Prompts>(*traj.prompts);
  damage(traj, *batch, *prompts);
  traj.batch = batch;
  traj.prompts = prompts;
  return refusal(Kind::traj, bytes_of(traj));
}

TEST(Batches, PartsThatDoNotFitAreRefusedByName) {
  using B = BatchDescriptor;
  EXPECT_EQ(refusal_of([](Rollouts&, B&, Prompts&) {}), "");
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.offsets = {0, 2, 1, 3};
              }),
              HasSubstr("\"batch.offsets\" falls from 2 to 1 at element 2"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.offsets = {0, 2, 2, 4};
              }),
              HasSubstr("\"batch.offsets\" ends at 4, there are 3"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.offsets = {1, 2, 2, 3};
              }),
              HasSubstr("\"batch.offsets\" does not begin with 0"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) { batch.offsets = {}; }), HasSubstr("begin with 0"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.group = {0, 1};
              }),
              HasSubstr("\"batch.group\" has 2 elements, there are 3 responses"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.group = {0, 1, 0};
              }),
              HasSubstr("\"batch.group\" falls"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.group = {0, 1, 2};
              }),
              HasSubstr("\"batch.group\" holds 2 at element 2, outside 0..1"));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) {
                batch.finish = {0, 2, 0};
              }),
              HasSubstr("\"batch.finish\""));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) { batch.mask = {1, 1, 2}; }), HasSubstr("\"batch.mask\""));
  EXPECT_THAT(refusal_of([](Rollouts&, B& batch, Prompts&) { batch.temperature = -1; }), HasSubstr("\"temperature\""));
  EXPECT_THAT(refusal_of([](Rollouts& traj, B&, Prompts&) { traj.logprob.pop_back(); }),
              HasSubstr("\"logprob\" has 2 elements, there are 3 response tokens"));
  EXPECT_THAT(refusal_of([](Rollouts& traj, B&, Prompts&) { traj.tokens = {9, -1, 2}; }), HasSubstr("\"tokens\""));
  EXPECT_THAT(refusal_of([](Rollouts& traj, B&, Prompts&) { traj.version = -1; }), HasSubstr("\"version\""));
  EXPECT_THAT(refusal_of([](Rollouts&, B&, Prompts& prompts) { prompts.source_row = {7}; }),
              HasSubstr("\"prompts.source_row\" has 1 elements, there are 2 prompts"));
  EXPECT_THAT(refusal_of([](Rollouts&, B&, Prompts& prompts) { prompts.answer = {"9"}; }),
              HasSubstr("\"prompts.answer.offsets\" describes 1 texts, there are 2 prompts"));
}

// Examples written by hand, so that single tensors can be wrong.
std::string refused_examples(std::vector<TensorView> tensors, std::map<std::string, std::string> metadata = {}) {
  metadata["format"] = "rlflow.examples/1";
  VectorSink sink;
  write_safetensors(sink, std::move(tensors), metadata);
  return refusal(Kind::examples, sink.bytes);
}

TEST(Batches, WrongTypesMissingAndUnknownTensorsAreRefusedByName) {
  const std::vector<std::int32_t> tokens = {1, 3, 2};
  const std::vector<std::int64_t> offsets = {0, 3}, rows = {41}, wide = {1, 3, 2};
  const std::vector<std::uint8_t> mask = {0, 1, 1};
  const TensorView good_tokens = vector_view("tokens", tokens), good_offsets = vector_view("tokens.offsets", offsets),
                   good_mask = vector_view("loss_mask", mask), good_rows = vector_view("source_row", rows);
  EXPECT_EQ(refused_examples({good_tokens, good_offsets, good_mask, good_rows}), "");
  EXPECT_THAT(refused_examples({vector_view("tokens", wide), good_offsets, good_mask, good_rows}),
              HasSubstr("\"tokens\" is not a vector of I32"));
  EXPECT_THAT(refused_examples({good_tokens, good_offsets, good_rows}), HasSubstr("no tensor \"loss_mask\""));
  EXPECT_THAT(refused_examples({good_tokens, good_offsets, good_mask, good_rows, vector_view("extra", rows)}),
              HasSubstr("\"extra\" is not known"));
  EXPECT_THAT(refused_examples({good_tokens, good_offsets, good_mask, good_rows}, {{"note", "x"}}),
              HasSubstr("\"note\" is not known"));
}

TEST(Batches, WrongJsonIsRefused) {
  EXPECT_NE(refusal(Kind::scalar, bytes_of(R"({"format":"rlflow.scalar/1","value":"much"})")), "");
  EXPECT_NE(refusal(Kind::scalar, bytes_of(R"({"format":"rlflow.scalar/1"})")), "");
  EXPECT_NE(refusal(Kind::scalar, bytes_of(R"({"format":"rlflow.scalar/1","value":1.5,"more":2.5})")), "");
  EXPECT_NE(refusal(Kind::scalar, bytes_of(R"([1])")), "");
  EXPECT_NE(refusal(Kind::cursor, bytes_of(R"({"format":"rlflow.cursor/2","epoch":0,"offset":0})")), "");
  EXPECT_NE(refusal(Kind::cursor, bytes_of(R"({"format":"rlflow.cursor/1","epoch":0.5,"offset":0})")), "");
  EXPECT_NE(refusal(Kind::cursor, bytes_of(R"({"format":"rlflow.cursor/1","epoch":0,"offset":-1})")), "");
  EXPECT_NE(refusal(Kind::cursor, bytes_of(R"({"format":"rlflow.cursor/1","epoch":0,"offset":18446744073709551615})")),
            "");
  EXPECT_NE(refusal(Kind::metrics, bytes_of(R"({"format":"rlflow.metrics/1","a":1.0,"a":2.0})")), "");
}

TEST(BatchesDeathTest, NumbersOfAnotherLengthAreAProgrammersMistake) {
  auto batch = std::make_shared<BatchDescriptor>(three_responses());
  EXPECT_DEATH(Numbers(Kind::adv, batch, false, {1, 2}), "adv holds 2 numbers for 3");
}

}  // namespace
}  // namespace rlflow
