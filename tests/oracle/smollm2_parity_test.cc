// Does a real model say what it says in transformers? Long: needs models/smollm2, which `./dev model smollm2` makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nodes/format/json.h"
#include "nodes/format/tokenizer.h"
#include "nodes/model/cpu_model.h"
#include "nodes/prompt_encoder.h"
#include "nodes/rollout/cpu_generator.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

constexpr int kTokens = 64;
constexpr float kApart = 1e-3f;  // below it two logits of 30 layers in f32 may change places

Ids prompt_ids(const Json& prompt, const Tokenizer& tokenizer, const fs::path& folder) {
  if (prompt.is_string()) return tokenizer.encode_prompt(prompt.get<std::string>());
  std::vector<ChatMessage> messages;
  for (const Json& message : prompt) messages.push_back({message.at("role"), message.at("content")});
  return conversation_ids(tokenizer, read_chat_template(folder), messages, "");
}

TEST(SmolLm2, GreedyTextIsThatOfTransformers) {
  const char* python = std::getenv("RLFLOW_ORACLE_PYTHON");
  if (!testing::long_size() || !python) GTEST_SKIP() << "compared in long tests, with RLFLOW_ORACLE_PYTHON";
  const fs::path folder = fs::path(RLFLOW_SOURCE_DIR) / "models/smollm2";
  ASSERT_TRUE(fs::exists(folder / "model.safetensors")) << "make it: ./dev model smollm2";
  const fs::path out = fs::path(RLFLOW_BINARY_DIR) / "oracle/smollm2.jsonl";
  fs::create_directories(out.parent_path());
  const std::string command = std::string(python) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/smollm2_greedy.py " +
                              folder.string() + " " + out.string() + " " + std::to_string(kTokens);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  const auto model = CpuModel::load_folder(folder, 2);
  const Tokenizer tokenizer = read_tokenizer(folder);
  GenerationSettings settings;
  settings.sampling.max_new = kTokens;
  settings.sampling.temperature = 0;
  settings.threads = 2;
  std::ifstream lines(out);
  int prompts = 0, whole = 0;
  for (std::string line; std::getline(lines, line); ++prompts) {
    const Json wanted = Json::parse(line);
    SCOPED_TRACE(wanted.at("prompt").dump());
    const Ids ids = prompt_ids(wanted.at("prompt"), tokenizer, folder);
    ASSERT_EQ(ids, wanted.at("ids").get<Ids>());
    const std::vector<std::span<const std::int32_t>> asked{ids};
    std::vector<Response> responses;
    CpuGenerator generator;
    ASSERT_TRUE(generator.run(*model, asked, settings, responses));
    const Ids answer = wanted.at("answer").get<Ids>();
    const auto margins = wanted.at("margins").get<std::vector<float>>();
    if (margins.back() > kApart) {
      EXPECT_EQ(responses.at(0).tokens, answer);
      EXPECT_EQ(tokenizer.decode_response(responses.at(0).tokens), wanted.at("text"));
      ++whole;
      continue;
    }
    for (std::size_t t = 0; t < answer.size() && margins[t] > kApart; ++t) {
      ASSERT_EQ(responses.at(0).tokens.at(t), answer[t]) << "token " << t;
    }
  }
  EXPECT_EQ(prompts, 5);
  EXPECT_GE(whole, 4) << "too many near ties to say that the texts are equal";
}

}  // namespace
}  // namespace rlflow
