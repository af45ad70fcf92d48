// Does the generation engine give every response the same bits, whatever it is generated beside and with?
#include "nodes/rollout/cpu_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "nodes/model/chunks.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/rollout/kv_blocks.h"
#include "tests/nodes/model/packed_responses.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Tokens = std::vector<std::int32_t>;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

const CpuModel& drawn() {
  static const auto model = CpuModel::draw(kTiny, 1, 2);
  return *model;
}
const CpuModel& trained() {
  static const auto model = CpuModel::load_folder(kTiny, 2);
  return *model;
}
const Tokenizer& tokenizer() {
  static const Tokenizer instance = read_tokenizer(kTiny);
  return instance;
}

struct Generated {
  std::vector<Response> responses;
  GenerationReport report;
};

Generated generate(const CpuModel& model, const std::vector<Tokens>& prompts, const GenerationSettings& settings) {
  const std::vector<std::span<const std::int32_t>> views(prompts.begin(), prompts.end());
  Generated result;
  CpuGenerator generator;
  EXPECT_TRUE(generator.run(model.view(), views, settings, result.responses));
  result.report = generator.report();
  return result;
}

void expect_equal(const std::vector<Response>& a, const std::vector<Response>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].tokens, b[i].tokens) << i;
    ASSERT_EQ(a[i].logprob, b[i].logprob) << i;
    ASSERT_EQ(a[i].finish, b[i].finish) << i;
  }
}

// Prompts of 1 to 25 tokens.
std::vector<Tokens> prompts(std::size_t count, std::uint64_t seed = 1) {
  PhiloxStream stream(seed);
  std::vector<Tokens> result(count);
  for (Tokens& prompt : result) {
    prompt.push_back(1);
    for (std::uint64_t length = stream.below(25); length > 0; --length) {
      prompt.push_back(static_cast<std::int32_t>(3 + stream.below(10)));
    }
  }
  return result;
}

GenerationSettings settings_for(std::int64_t samples, std::int64_t max_new) {
  GenerationSettings settings;
  settings.samples = samples;
  settings.sampling.max_new = max_new;
  return settings;
}

// The log-probabilities of the training pass for the tokens of these responses.
std::vector<float> read_again(const CpuModel& model, const std::vector<Tokens>& asked,
                              const std::vector<Response>& responses, std::int64_t samples, double temperature) {
  const testing::PackedResponses packed(asked, responses, samples);
  CpuPasses passes;
  std::vector<float> logprob(packed.tokens.size());
  passes.logprobs(model.view(), packed.chunks(200), {static_cast<float>(1 / temperature), 2, {}}, logprob);
  return logprob;
}

std::vector<float> logprobs_of(const std::vector<Response>& responses) {
  std::vector<float> result;
  for (const Response& response : responses) {
    result.insert(result.end(), response.logprob.begin(), response.logprob.end());
  }
  return result;
}

// Tokens of the responses that have to be read: each prefix once, without the last token, after which nothing is drawn.
std::int64_t prefixes(const std::vector<Response>& responses) {
  std::set<Tokens> distinct;
  for (const Response& response : responses) {
    for (std::size_t n = 1; n < response.tokens.size(); ++n)
      distinct.insert(Tokens(response.tokens.begin(), response.tokens.begin() + static_cast<std::ptrdiff_t>(n)));
  }
  return static_cast<std::int64_t>(distinct.size());
}

// Budgets from just enough for one sequence on, with preemption and without; lanes and slots of every kind.
TEST(Generation, BudgetSlotsAndThreadsChangeNoBit) {
  const auto asked = prompts(13);
  GenerationSettings settings = settings_for(5, 36);
  const Generated plain = generate(drawn(), asked, settings);
  EXPECT_EQ(plain.report.preemptions, 0);
  std::int64_t preemptions = 0;
  for (std::int64_t budget : {80, 128, 1000}) {
    for (std::int32_t threads : {1, 2}) {
      for (std::int64_t slots : {1, 3, 64}) {
        settings.budget = budget;
        settings.threads = threads;
        settings.slots = slots;
        const Generated other = generate(drawn(), asked, settings);
        expect_equal(plain.responses, other.responses);
        EXPECT_LE(other.report.peak_blocks * kBlockTokens, budget);
        preemptions += other.report.preemptions;
        if (budget == 80) {
          EXPECT_EQ(other.report.lanes, 1);
        }
      }
    }
  }
  EXPECT_GT(preemptions, 20);
}

// Three threads that work together on each product, on however many cores there are.
TEST(Generation, ThreadsThatShareProductsChangeNoBit) {
  const auto asked = prompts(1, 12);
  GenerationSettings settings = settings_for(2, 30);
  const Generated alone = generate(drawn(), asked, settings);
  settings.threads = 3;
  const Generated together = generate(drawn(), asked, settings);
  EXPECT_EQ(together.report.lanes, 1);
  expect_equal(alone.responses, together.responses);
}

TEST(Generation, PreemptedOrNotTheLogprobsAreThoseOfTheTrainingPassToTheBit) {
  const auto asked = prompts(9, 2);
  GenerationSettings settings = settings_for(4, 36);
  settings.sampling.temperature = 0.7;
  settings.budget = 112;
  const Generated result = generate(drawn(), asked, settings);
  EXPECT_GT(result.report.preemptions, 5);
  EXPECT_EQ(logprobs_of(result.responses), read_again(drawn(), asked, result.responses, 4, 0.7));
}

TEST(Generation, AloneOrInABatchASampleMeetsTheSameNoise) {
  const auto asked = prompts(6, 3);
  GenerationSettings settings = settings_for(3, 20);
  const Generated all = generate(drawn(), asked, settings);
  settings.slots = 1;
  const Generated one_by_one = generate(drawn(), asked, settings);
  expect_equal(all.responses, one_by_one.responses);
  const Generated first = generate(drawn(), {asked[0]}, settings);
  expect_equal({all.responses.begin(), all.responses.begin() + 3}, first.responses);
}

TEST(Generation, SamplesOfAGroupDifferAndEqualPromptsAreReadOnce) {
  Tokens prompt(40, 4);
  GenerationSettings settings = settings_for(8, 10);
  const Generated once = generate(drawn(), {prompt}, settings);
  std::set<Tokens> distinct;
  for (const Response& response : once.responses) distinct.insert(response.tokens);
  EXPECT_GT(distinct.size(), 6u);
  const Generated twice = generate(drawn(), {prompt, prompt}, settings);
  expect_equal(once.responses, {twice.responses.begin(), twice.responses.begin() + 8});
  for (std::size_t i = 8; i < 16; ++i) distinct.insert(twice.responses[i].tokens);
  EXPECT_GT(distinct.size(), 12u);
  EXPECT_EQ(twice.report.rows, 40 + prefixes(twice.responses));
}

// Samples go together until they part, whoever of them ends first, and prompts from where they part.
TEST(Generation, WhatSequencesHaveInCommonIsReadOnce) {
  std::vector<Tokens> asked = {Tokens(40, 4), Tokens(40, 4), Tokens(12, 5), Tokens(40, 4)};
  for (std::size_t i = 30; i < 40; ++i) asked[1][i] = 5;
  asked[3].resize(35);
  GenerationSettings settings = settings_for(8, 20);
  settings.sampling.temperature = 0.03;
  const Generated result = generate(drawn(), asked, settings);
  const auto group = [&](std::size_t i) {
    return std::vector(result.responses.begin() + static_cast<std::ptrdiff_t>(8 * i),
                       result.responses.begin() + static_cast<std::ptrdiff_t>(8 * i + 8));
  };
  std::int64_t responses = 0, tokens = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) responses += prefixes(group(i));
  for (const Response& response : result.responses) tokens += static_cast<std::int64_t>(response.tokens.size()) - 1;
  EXPECT_LT(responses, tokens * 3 / 4);
  // The last prompt is the beginning of another: its last token is read for what follows it.
  EXPECT_EQ(result.report.rows, 40 + 10 + 12 + 1 + responses);
  EXPECT_EQ(logprobs_of(result.responses), read_again(drawn(), asked, result.responses, 8, 0.03));
  GenerationSettings one_by_one = settings;
  one_by_one.slots = 1;
  expect_equal(result.responses, generate(drawn(), asked, one_by_one).responses);
  settings.budget = 112;
  settings.slots = 5;
  expect_equal(result.responses, generate(drawn(), asked, settings).responses);
}

// A long max_new costs nothing until it is used: the trained model ends by itself after some ten tokens.
TEST(Generation, TheCacheHoldsWhatIsGenerated) {
  const Tokens prompt = tokenizer().encode_prompt("12+34=");
  GenerationSettings settings = settings_for(32, 50);
  settings.slots = 4;
  const Generated result = generate(trained(), {prompt}, settings);
  std::int64_t longest = 0;
  for (const Response& response : result.responses) {
    EXPECT_EQ(response.finish, FinishReason::end);
    longest = std::max(longest, static_cast<std::int64_t>(response.tokens.size()));
  }
  EXPECT_LT(longest, 33);
  EXPECT_LE(result.report.peak_blocks, 1 + 4 * blocks_for(longest));
  EXPECT_LT(result.report.peak_blocks, 1 + 4 * blocks_for(50));
  // Keys and values of 16 tokens, f32.
  const ModelConfig& config = trained().config();
  EXPECT_EQ(result.report.block_bytes, 16 * config.layers * 2 * config.kv_size() * 4);
}

TEST(Generation, ABudgetBelowOneSequenceIsRefused) {
  const Tokens prompt(20, 4);
  const std::vector<std::span<const std::int32_t>> views{prompt};
  GenerationSettings settings = settings_for(1, 30);
  settings.budget = 63;  // the prompt takes 32, the response 32
  CpuGenerator generator;
  std::vector<Response> responses;
  EXPECT_THAT([&] { generator.run(drawn().view(), views, settings, responses); },
              ThrowsMessage<std::runtime_error>(HasSubstr("a budget of 63 tokens does not hold the longest prompt with "
                                                          "max_new tokens, which takes 64; raise `budget`")));
  settings.budget = 64;
  EXPECT_TRUE(generator.run(drawn().view(), views, settings, responses));
}

TEST(Generation, NoEndTokenBeforeMinNewAndTheLogprobStaysThatOfTheWholeVocabulary) {
  const auto asked = prompts(10, 5);
  GenerationSettings settings = settings_for(6, 30);
  for (double temperature : {1.0, 0.0}) {
    settings.sampling.temperature = temperature;
    settings.sampling.min_new = 0;
    const Generated free = generate(trained(), asked, settings);
    settings.sampling.min_new = 25;
    const Generated bound = generate(trained(), asked, settings);
    std::int64_t early = 0, ended = 0;
    for (std::size_t i = 0; i < bound.responses.size(); ++i) {
      const Response& response = bound.responses[i];
      early += free.responses[i].tokens.size() < 25 ? 1 : 0;
      ended += response.finish == FinishReason::end ? 1 : 0;
      EXPECT_GE(response.tokens.size(), 25u);
      for (std::size_t t = 0; t + 1 < response.tokens.size(); ++t) EXPECT_NE(response.tokens[t], tokenizer().eos());
    }
    EXPECT_GT(early, 0);
    EXPECT_GT(ended, 0);
    EXPECT_EQ(logprobs_of(bound.responses),
              read_again(trained(), asked, bound.responses, 6, temperature == 0 ? 1 : temperature));
  }
}

// What a truncation keeps, by the full softmax in doubles: every sampled token is of the kept set.
TEST(Generation, TruncatedSamplesAreOfTheKeptSetAndRecordTheWholeSoftmax) {
  const auto asked = prompts(20, 6);
  GenerationSettings settings = settings_for(4, 12);
  const Generated plain = generate(drawn(), asked, settings);
  settings.sampling.top_k = 1;
  const Generated first = generate(drawn(), asked, settings);
  settings.sampling.top_k = 0;
  settings.sampling.temperature = 0;
  const Generated greedy = generate(drawn(), asked, settings);
  expect_equal(first.responses, greedy.responses);
  settings.sampling.temperature = 1;
  settings.sampling.top_p = 0.8;
  settings.sampling.top_k = 6;
  settings.sampling.min_p = 0.3;
  const Generated some = generate(drawn(), asked, settings);
  EXPECT_EQ(logprobs_of(some.responses), read_again(drawn(), asked, some.responses, 4, 1));
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < some.responses.size(); ++i) {
    differ += some.responses[i].tokens != plain.responses[i].tokens ? 1 : 0;
    // No kept token is less likely than 0.3 of the most likely, of 21 tokens so at least 0.3/21 of all.
    for (float logprob : some.responses[i].logprob) EXPECT_GE(logprob, std::log(0.3 / 21) - 1e-4);
  }
  EXPECT_GT(differ, 40);
}

TEST(Generation, EndsByAStopTextWhereverItAppears) {
  const auto asked = prompts(16, 7);
  GenerationSettings settings = settings_for(4, 20);
  const Generated plain = generate(drawn(), asked, settings);
  const StopTexts stop(tokenizer(), {"77", "3+", "<5="});
  settings.stop_texts = &stop;
  const Generated result = generate(drawn(), asked, settings);
  std::int64_t stopped = 0;
  for (std::size_t i = 0; i < result.responses.size(); ++i) {
    const Response& response = result.responses[i];
    // The same tokens as without, up to the first place where a text stands.
    const std::string text = tokenizer().decode(plain.responses[i].tokens);
    std::size_t length = plain.responses[i].tokens.size();
    for (std::size_t size = 1; size <= plain.responses[i].tokens.size(); ++size) {
      const std::string part = tokenizer().decode(std::span(plain.responses[i].tokens).first(size));
      const bool holds = std::any_of(stop.texts().begin(), stop.texts().end(),
                                     [&](const std::string& s) { return part.find(s) != std::string::npos; });
      if (!holds) continue;
      length = size;
      break;
    }
    ASSERT_EQ(response.tokens, Tokens(plain.responses[i].tokens.begin(),
                                      plain.responses[i].tokens.begin() + static_cast<std::ptrdiff_t>(length)));
    if (response.finish != FinishReason::stop) continue;
    ++stopped;
    const std::string left = response_text(tokenizer(), response.tokens, response.finish, stop.texts());
    for (const std::string& s : stop.texts()) EXPECT_EQ(left.find(s), std::string::npos) << left;
    EXPECT_TRUE(tokenizer().decode(response.tokens).starts_with(left));
  }
  EXPECT_GT(stopped, 5);
}

TEST(Generation, TellsEveryTokenInOrder) {
  const auto asked = prompts(5, 8);
  GenerationSettings settings = settings_for(3, 15);
  settings.threads = 2;
  std::map<std::int64_t, Tokens> told;
  settings.extended = [&](std::int64_t response, const Response& so_far, bool finished) {
    EXPECT_EQ(finished, so_far.finish != FinishReason::length || so_far.tokens.size() == 15);
    told[response].push_back(so_far.tokens.back());
    EXPECT_EQ(told[response].size(), so_far.tokens.size());
  };
  const Generated result = generate(drawn(), asked, settings);
  for (std::size_t i = 0; i < result.responses.size(); ++i) {
    EXPECT_EQ(told[static_cast<std::int64_t>(i)], result.responses[i].tokens);
  }
}

// Random settings: the same bits under any way to run them, and what each setting promises.
TEST(Generation, HoldsItsPromisesUnderRandomSettings) {
  const StopTexts stop(tokenizer(), {"55", "8"});
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    PhiloxStream stream(mix64(seed));
    const auto asked = prompts(1 + stream.below(12), seed);
    GenerationSettings settings = settings_for(1 + static_cast<std::int64_t>(stream.below(9)), 0);
    SamplingSettings& sampling = settings.sampling;
    sampling.max_new = 1 + static_cast<std::int64_t>(stream.below(38));
    sampling.min_new = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(sampling.max_new) + 1));
    sampling.temperature = stream.below(5) == 0 ? 0 : 0.3 + stream.uniform();
    sampling.top_k = stream.below(2) == 0 ? 0 : 1 + static_cast<std::int64_t>(stream.below(30));
    sampling.top_p = stream.below(2) == 0 ? 1 : stream.uniform();
    sampling.min_p = stream.below(2) == 0 ? 0 : stream.uniform();
    if (stream.below(3) == 0) settings.stop_texts = &stop;
    settings.run_seed = seed;
    const Generated one = generate(trained(), asked, settings);
    settings.threads = 1 + static_cast<std::int32_t>(stream.below(2));
    settings.slots = 1 + static_cast<std::int64_t>(stream.below(10));
    settings.budget = 16 * (2 + blocks_for(sampling.max_new) + static_cast<std::int64_t>(stream.below(8)));
    const Generated other = generate(trained(), asked, settings);
    expect_equal(one.responses, other.responses);
    for (const Response& response : one.responses) {
      const auto length = static_cast<std::int64_t>(response.tokens.size());
      EXPECT_LE(length, sampling.max_new);
      EXPECT_GE(length, sampling.min_new);
      EXPECT_EQ(response.logprob.size(), response.tokens.size());
      EXPECT_EQ(response.finish == FinishReason::end, response.tokens.back() == tokenizer().eos());
      if (response.finish == FinishReason::length) {
        EXPECT_EQ(length, sampling.max_new);
      }
    }
    if (sampling.temperature > 0) {
      EXPECT_EQ(logprobs_of(one.responses),
                read_again(trained(), asked, one.responses, settings.samples, sampling.temperature))
          << seed;
    }
  }
}

}  // namespace
}  // namespace rlflow
