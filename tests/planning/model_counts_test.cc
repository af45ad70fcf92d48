// Do parameter counts from config.json agree with counts by hand and with weights that exist?
#include "nodes/format/model_config.h"

#include <gtest/gtest.h>

namespace rlflow::testing {
namespace {

constexpr const char* kQwen05B = R"({"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896,
  "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
  "max_position_embeddings": 32768, "tie_word_embeddings": true})";
constexpr const char* kQwen7B = R"({"model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584,
  "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
  "max_position_embeddings": 32768, "tie_word_embeddings": false})";

TEST(ModelCounts, TheTinyModelHasAsManyParametersAsItsFile) {
  ModelConfig tiny = read_model_config(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny");
  EXPECT_EQ(tiny.with_token_head(), 198'464);
  EXPECT_EQ(tiny.with_score_head(), 198'464 + 64);
}

TEST(ModelCounts, Qwen2IsCountedWithItsBiases) {
  // 151,936 x 896 + 24 x (896 x (896 + 2 x 128) + 1,152 + 896 x 896 + 3 x 896 x 4,864 + 2 x 896) + 896
  EXPECT_EQ(parse_model_config(kQwen05B).with_token_head(), 494'032'768);
  EXPECT_EQ(parse_model_config(kQwen7B).with_token_head(), 7'615'616'512);
  EXPECT_EQ(parse_model_config(kQwen7B).with_score_head(), 7'615'616'512 - 152'064 * 3584 + 3584);
}

}  // namespace
}  // namespace rlflow::testing
