// Are sequences with common prefixes computed once, and exactly as if each stood alone?
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "nodes/format/file.h"
#include "nodes/format/safetensors.h"
#include "nodes/model/chunks.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

using Tokens = std::vector<std::int32_t>;
namespace fs = std::filesystem;

// Prompts and responses over an alphabet so small that they share prefixes of many lengths, some of them whole.
struct Batch {
  explicit Batch(std::size_t prompt_count = 6, std::size_t samples = 9) {
    PhiloxStream stream(11);
    for (std::size_t p = 0; p < prompt_count; ++p) {
      Tokens prompt{1};
      for (std::uint64_t length = 2 + stream.below(9); length > 0; --length) prompt.push_back(draw(stream));
      if (p == 4) prompt = Tokens(prompts.begin(), prompts.begin() + prompt_offsets[1]);  // the first once more
      prompts.insert(prompts.end(), prompt.begin(), prompt.end());
      prompt_offsets.push_back(static_cast<std::int64_t>(prompts.size()));
      for (std::size_t s = 0; s < samples; ++s) {
        for (std::uint64_t length = 1 + stream.below(9); length > 0; --length) tokens.push_back(draw(stream));
        offsets.push_back(static_cast<std::int64_t>(tokens.size()));
        group.push_back(static_cast<std::int32_t>(p));
        all.push_back(static_cast<std::int64_t>(all.size()));
      }
    }
  }
  static std::int32_t draw(PhiloxStream& stream) { return 3 + static_cast<std::int32_t>(stream.below(4) / 2); }

  std::vector<Chunk> chunks(std::int64_t budget, std::span<const std::int64_t> selected) const {
    return pack_responses({prompts, prompt_offsets}, {tokens, offsets}, group, selected, budget);
  }
  std::vector<Chunk> chunks(std::int64_t budget) const { return chunks(budget, all); }

  Tokens prompts, tokens;
  std::vector<std::int64_t> prompt_offsets{0}, offsets{0}, all;
  std::vector<std::int32_t> group;
};

std::int64_t depth(const PackedRows& rows, std::int32_t segment) {
  return segment < 0 ? 0 : 1 + depth(rows, rows.segments[static_cast<std::size_t>(segment)].parent);
}

// The tokens that a row stands for, from the first of its sequence on, and those of them that are its prompt's.
std::pair<Tokens, std::int64_t> sequence_of(const PackedRows& rows, std::int64_t row) {
  std::size_t s = 0;
  while (row >= rows.segments[s].begin + rows.segments[s].length) ++s;
  Tokens tokens;
  std::int64_t last = row;
  const std::int64_t prompt = rows.segments[s].prompt_length;
  for (auto at = static_cast<std::int32_t>(s); at >= 0; at = rows.segments[static_cast<std::size_t>(at)].parent) {
    const Segment& segment = rows.segments[static_cast<std::size_t>(at)];
    if (at != static_cast<std::int32_t>(s)) last = segment.begin + segment.length - 1;
    tokens.insert(tokens.begin(), rows.tokens.begin() + segment.begin, rows.tokens.begin() + last + 1);
  }
  return {tokens, prompt};
}

TEST(Trie, HasARowForEachPrefixThatThereIs) {
  const Batch batch;
  const std::vector<Chunk> chunks = batch.chunks(10'000);
  ASSERT_EQ(chunks.size(), 1u);
  const Chunk& chunk = chunks[0];
  std::set<std::pair<Tokens, Tokens>> wanted;  // prompt rows by what they begin, response rows by prompt and prefix
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < batch.all.size(); ++i) {
    const auto p = static_cast<std::size_t>(batch.group[i]);
    const Tokens prompt(batch.prompts.begin() + batch.prompt_offsets[p],
                        batch.prompts.begin() + batch.prompt_offsets[p + 1]);
    for (std::size_t n = 1; n <= prompt.size(); ++n)
      wanted.insert({Tokens(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(n)), {}});
    for (std::int64_t n = 1; n < batch.offsets[i + 1] - batch.offsets[i]; ++n) {
      const auto begin = batch.tokens.begin() + batch.offsets[i];
      wanted.insert({prompt, Tokens(begin, begin + n)});
    }
    tokens += prompt.size() + static_cast<std::size_t>(batch.offsets[i + 1] - batch.offsets[i]) - 1;
  }
  EXPECT_EQ(chunk.rows.tokens.size(), wanted.size());
  EXPECT_LT(3 * wanted.size(), tokens);
  std::int64_t deepest = 0;
  for (std::size_t s = 0; s < chunk.rows.segments.size(); ++s)
    deepest = std::max(deepest, depth(chunk.rows, static_cast<std::int32_t>(s)));
  EXPECT_GE(deepest, 6);
}

TEST(Trie, EveryResponseTokenIsPredictedFromItsOwnPrefix) {
  const Batch batch;
  for (std::int64_t budget : {1, 20, 60, 10'000}) {
    std::set<std::int64_t> seen;
    for (const Chunk& chunk : batch.chunks(budget)) {
      EXPECT_TRUE(chunk.rows.size() <= budget || budget == 1);
      for (std::size_t t = 0; t < chunk.targets.size(); ++t) {
        EXPECT_TRUE(seen.insert(chunk.index[t]).second);
        const auto at = static_cast<std::size_t>(chunk.index[t]);
        EXPECT_EQ(chunk.targets[t].token, batch.tokens[at]);
        std::size_t i = 0;
        while (batch.offsets[i + 1] <= chunk.index[t]) ++i;
        const auto p = static_cast<std::size_t>(batch.group[i]);
        Tokens before(batch.prompts.begin() + batch.prompt_offsets[p],
                      batch.prompts.begin() + batch.prompt_offsets[p + 1]);
        const auto prompt_length = static_cast<std::int64_t>(before.size());
        before.insert(before.end(), batch.tokens.begin() + batch.offsets[i], batch.tokens.begin() + chunk.index[t]);
        const auto [tokens, prompt] = sequence_of(chunk.rows, chunk.targets[t].row);
        EXPECT_EQ(tokens, before);
        EXPECT_EQ(prompt, batch.offsets[i] == chunk.index[t] ? 0 : prompt_length);
      }
    }
    EXPECT_EQ(seen.size(), batch.tokens.size());
  }
}

// The tiny model, and one whose sliding layers see 5 tokens, with norms of heads and of branches.
class TrieOf : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    fs::path folder = fs::path(RLFLOW_SOURCE_DIR) / "models/tiny";
    if (GetParam()) {
      nlohmann::json json = nlohmann::json::parse(read_text_file(folder / "config.json", 1 << 20));
      for (const char* key : {"architectures", "hidden_act", "rope_theta", "tie_word_embeddings"}) json.erase(key);
      json["model_type"] = "gemma3_text";
      json["sliding_window"] = 5;
      json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
      folder = fs::path(::testing::TempDir()) / "trie_gemma";
      fs::create_directories(folder);
      std::ofstream(folder / "config.json") << json;
    }
    model_ = CpuModel::draw(folder, 3, 2);
    ASSERT_EQ(model_->config().window, GetParam() ? 5 : 0);
  }

  std::vector<float> logprobs(const std::vector<Chunk>& chunks) const {
    CpuPasses passes;
    std::vector<float> result(batch_.tokens.size());
    passes.logprobs(model_->view(), chunks, {0.8f, 2, {}}, result);
    return result;
  }

  // Σ_t c_t·ℓ_t + h_t·H_t with uneven coefficients; its gradient into `gradient`, unless null.
  double objective(const std::vector<Chunk>& chunks, std::vector<float>* gradient) const {
    CpuPasses passes;
    std::vector<double> parts(chunks.size());
    const float* sum = passes.gradient(model_->view(), chunks, {0.8f, 2, {}}, [&](const ChunkLoss& chunk) {
      for (std::size_t i = 0; i < chunk.logprob.size(); ++i) {
        const std::int64_t at = chunks[chunk.chunk].index[i];
        const auto c = static_cast<float>(static_cast<double>(at % 5) - 1.5);
        const auto h = static_cast<float>(0.3 * static_cast<double>(at % 3));
        parts[chunk.chunk] += static_cast<double>(c) * chunk.logprob[i] + static_cast<double>(h) * chunk.entropy[i];
        chunk.dlogprob[i] = c;
        chunk.dentropy[i] = h;
      }
    });
    if (gradient) gradient->assign(sum, sum + model_->layout().size);
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  }

  static double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
      size += static_cast<double>(b[i]) * b[i];
    }
    return std::sqrt(difference / size);
  }

  Batch batch_;
  std::unique_ptr<CpuModel> model_;
};

TEST_P(TrieOf, SharingChangesNoBitOfALogprob) {
  const std::vector<float> alone = logprobs(batch_.chunks(1));
  for (std::int64_t budget : {20, 60, 10'000}) EXPECT_EQ(logprobs(batch_.chunks(budget)), alone) << budget;
}

TEST_P(TrieOf, TheGradientIsTheSumOverTheSequences) {
  std::vector<float> alone, shared;
  const double value = objective(batch_.chunks(1), &alone);
  for (std::int64_t budget : {20, 60, 10'000}) {
    EXPECT_NEAR(objective(batch_.chunks(budget), &shared), value, 1e-9 * std::abs(value));
    EXPECT_LT(relative_difference(shared, alone), 1e-6) << budget;
  }
}

TEST_P(TrieOf, TheOrderOfResponsesHardlyMattersAndThreadsNotAtAll) {
  std::vector<float> ascending, descending;
  objective(batch_.chunks(40), &ascending);
  const std::vector<std::int64_t> backwards(batch_.all.rbegin(), batch_.all.rend());
  EXPECT_EQ(logprobs(batch_.chunks(40, backwards)), logprobs(batch_.chunks(40)));
  objective(batch_.chunks(40, backwards), &descending);
  EXPECT_LT(relative_difference(descending, ascending), 1e-6);
  for (std::int64_t budget : {40, 10'000}) {
    const std::vector<Chunk> chunks = batch_.chunks(budget);
    const auto gradient = [&](std::int32_t threads) {
      CpuPasses passes;
      const float* sum = passes.gradient(model_->view(), chunks, {1, threads, {}}, [](const ChunkLoss& chunk) {
        for (float& d : chunk.dlogprob) d = 1;
      });
      return std::vector<float>(sum, sum + model_->layout().size);
    };
    EXPECT_EQ(gradient(1), gradient(2)) << budget;
  }
}

// Along the gradient of one tensor the objective rises by its norm.
TEST_P(TrieOf, TheGradientOfEveryTensorIsItsSlope) {
  const std::vector<Chunk> chunks = Batch(3, 4).chunks(10'000);
  std::vector<float> gradient;
  objective(chunks, &gradient);
  const std::vector<float> start(model_->parameters(), model_->parameters() + model_->layout().size);
  for (const ParameterSlot& moving : model_->layout().slots) {
    double norm = 0;
    for (std::int64_t i = moving.offset; i < moving.offset + moving.count; ++i)
      norm += static_cast<double>(gradient[static_cast<std::size_t>(i)]) * gradient[static_cast<std::size_t>(i)];
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << moving.name;
    const double step = 5e-3;
    const auto moved = [&](double by) {
      std::vector<float> values = start;
      for (std::int64_t i = moving.offset; i < moving.offset + moving.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        values[at] += static_cast<float>(by * gradient[at] / norm);
      }
      std::vector<TensorView> views;
      for (const ParameterSlot& slot : model_->layout().slots) {
        const std::span<const float> part(values.data() + slot.offset, static_cast<std::size_t>(slot.count));
        views.push_back({slot.name, TensorType::f32, {slot.shape.begin(), slot.shape.end()}, std::as_bytes(part), 0});
      }
      VectorSink sink;
      write_safetensors(sink, std::move(views), {});
      model_->load("parameters", sink.bytes);
      return objective(chunks, nullptr);
    };
    EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step) / norm, 1, 1e-2) << moving.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrieOf, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "SlidingWindows" : "Tiny"; });

}  // namespace
}  // namespace rlflow
