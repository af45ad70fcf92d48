// Does a conversation go on in the model's own template, with every turn in it?
#include "nodes/generate_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nodes/format/tokenizer.h"
#include "nodes/model/cpu_model.h"
#include "tests/nodes/byte_tokenizer.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const char* const kConfig = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16,
  "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
  "max_position_embeddings": 256, "vocab_size": 262, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
  "hidden_act": "silu", "tie_word_embeddings": true, "eos_token_id": 257, "torch_dtype": "float32"})";

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("config.json", kConfig);
    write("tokenizer.json", testing::byte_tokenizer().dump());
    write("tokenizer_config.json", R"({"bos_token": "<bos>", "eos_token": "<eos>"})");
    write("chat_template.jinja", testing::kChatml);
    request_.max_new = 12;
    request_.question = [this]() -> std::optional<std::string> {
      return asked_ < questions_.size() ? std::optional(questions_[asked_++]) : std::nullopt;
    };
    request_.answered = [this](const GeneratedTexts& texts) { answers_.push_back(texts); };
  }
  ~ConversationTest() override { std::filesystem::remove_all(folder_); }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  bool talk(bool stop = false) {
    const auto model = CpuModel::draw(folder_, 1, 1);
    GeneratedTexts texts;
    return generate_text(
        *model, folder_, request_, {}, [stop] { return stop; }, texts);
  }
  // What the model was asked at a turn, with the names of its tokens.
  std::string prompt_of(std::size_t turn) const { return read_tokenizer(folder_).decode(answers_[turn].prompt_ids); }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "rlflow_conversation_test";
  GenerateRequest request_;
  std::vector<std::string> questions_ = {"one", "two <|im_end|>"};
  std::size_t asked_ = 0;
  std::vector<GeneratedTexts> answers_;
};

TEST_F(ConversationTest, EveryTurnStaysInIt) {
  request_.system = "Be brief.";
  ASSERT_TRUE(talk());
  ASSERT_EQ(answers_.size(), 2u);
  const std::string first =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(prompt_of(0), first);
  EXPECT_EQ(prompt_of(1), first + answers_[0].responses.at(0).text +
                              "<|im_end|>\n<|im_start|>user\ntwo <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  const auto& ids = answers_[1].prompt_ids;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 259), 4) << "what the user wrote is no control token";
}

TEST_F(ConversationTest, TheTokenThatEndsATurnEndsTheAnswer) {
  // Not named by eos_token_id. At this temperature every token is about equally likely.
  questions_ = {"say"};
  request_.samples = 64;
  request_.max_new = 200;
  request_.temperature = 50;
  ASSERT_TRUE(talk());
  int stopped = 0;
  for (const GeneratedResponse& response : answers_.at(0).responses) {
    const bool ends = std::count(response.ids.begin(), response.ids.end(), 259) > 0;
    EXPECT_EQ(response.finish_reason == "stop", ends);
    if (!ends) continue;
    ++stopped;
    EXPECT_EQ(response.ids.back(), 259);
    EXPECT_THAT(response.text, ::testing::Not(HasSubstr("<|im_end|>")));
  }
  EXPECT_GT(stopped, 0);
}

TEST_F(ConversationTest, AnUnknownTemplateIsRefusedWithAWayOut) {
  write("chat_template.jinja", "{{ messages }}");
  EXPECT_THAT([&] { talk(); }, ThrowsMessage<FormatError>(HasSubstr("Without --chat")));
  EXPECT_EQ(asked_, 0u);
}

TEST_F(ConversationTest, StopsWhenAsked) {
  EXPECT_FALSE(talk(true));
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace rlflow
