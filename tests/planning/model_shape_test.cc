// Do parameter counts from config.json agree with counts by hand and with weights that exist?
#include "nodes/format/model_shape.h"

#include <gtest/gtest.h>

namespace rlflow::testing {
namespace {

constexpr const char* kQwen05B = R"({"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896,
  "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
  "max_position_embeddings": 32768, "tie_word_embeddings": true})";
constexpr const char* kQwen7B = R"({"model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584,
  "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
  "max_position_embeddings": 32768, "tie_word_embeddings": false})";

TEST(ModelShape, TheTinyModelHasAsManyParametersAsItsFile) {
  ModelShape tiny = read_model_shape(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny");
  EXPECT_EQ(tiny.with_token_head(), 198'464);
  EXPECT_EQ(tiny.with_score_head(), 198'464 + 64);
}

TEST(ModelShape, Qwen2IsCountedWithItsBiases) {
  // 151,936 x 896 + 24 x (896 x (896 + 2 x 128) + 1,152 + 896 x 896 + 3 x 896 x 4,864 + 2 x 896) + 896
  EXPECT_EQ(parse_model_shape(kQwen05B).with_token_head(), 494'032'768);
  EXPECT_EQ(parse_model_shape(kQwen7B).with_token_head(), 7'615'616'512);
  EXPECT_EQ(parse_model_shape(kQwen7B).with_score_head(), 7'615'616'512 - 152'064 * 3584 + 3584);
}

TEST(ModelShape, FaultsNameTheirKey) {
  auto fault = [](const std::string& json) {
    try {
      parse_model_shape(json);
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(fault("{}").find("has no vocab_size"), std::string::npos);
  EXPECT_NE(fault(R"({"vocab_size": 0})").find("vocab_size is 0"), std::string::npos);
  EXPECT_NE(fault(R"({"num_experts": 8})").find("experts cannot be counted"), std::string::npos);
}

}  // namespace
}  // namespace rlflow::testing
