// Are tokenizers and configurations read as written, and refused by name where they ask for more?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/model_config.h"
#include "nodes/format/tokenizer.h"

namespace rlflow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::json;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";

Json tiny_tokenizer() { return Json::parse(read_text_file(kTiny / "tokenizer.json", 1 << 20)); }
const std::string kTokenizerConfig = R"({"bos_token":"<bos>","eos_token":{"content":"<eos>"},"pad_token":"<pad>"})";

TEST(Tokenizer, WritesTheTinyVocabulary) {
  const Tokenizer tokenizer = read_tokenizer(kTiny);
  EXPECT_EQ(tokenizer.vocabulary_size(), 20);
  EXPECT_THAT(tokenizer.encode("12+ 9=<>-*"), ElementsAre(4, 5, 13, 19, 12, 16, 17, 18, 14, 15));
  EXPECT_THAT(tokenizer.encode_prompt("1"), ElementsAre(1, 4));
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_EQ(tokenizer.pad(), 0);
}

TEST(Tokenizer, ReadsBackWhatItWrote) {
  const Tokenizer tokenizer = read_tokenizer(kTiny);
  const std::string text = "347+586=<7+6=13 4+8+1=13>933";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(Tokenizer, NamesOfSpecialTokensInTextAreOnlyCharacters) {
  EXPECT_THAT([] { read_tokenizer(kTiny).encode("1<eos>"); },
              ::testing::Throws<EncodeError>(::testing::Field(&EncodeError::byte, 2u)));
}

TEST(Tokenizer, AResponseLosesOnlyItsEndToken) {
  const Tokenizer tokenizer = read_tokenizer(kTiny);
  const std::vector<std::int32_t> ended = {4, 2}, cut = {4, 1}, inside = {2, 4, 2};
  EXPECT_EQ(tokenizer.decode_response(ended), "1");
  EXPECT_EQ(tokenizer.decode_response(cut), "1<bos>");
  EXPECT_EQ(tokenizer.decode_response(inside), "<eos>1");
}

TEST(Tokenizer, RefusesByNameWhatItDoesNotUnderstand) {
  const auto refused = [](const Json& json, const std::string& reason) {
    EXPECT_THAT([&] { Tokenizer(json.dump(), kTokenizerConfig); }, ThrowsMessage<FormatError>(HasSubstr(reason)));
  };
  Json json = tiny_tokenizer();
  json["model"]["type"] = "Unigram";
  refused(json, "the type \"Unigram\"");
  json = tiny_tokenizer();
  json["normalizer"] = {{"type", "NFC"}};
  refused(json, "normalizer");
  json = tiny_tokenizer();
  json["pre_tokenizer"]["pattern"]["Regex"] = "[0-9]+|.";
  refused(json, "pattern");
  json = tiny_tokenizer();
  json["model"]["vocab"]["ab"] = 20;
  refused(json, "several characters");
  json = tiny_tokenizer();
  json["model"]["vocab"]["9"] = 11;
  refused(json, "given twice");
  json = tiny_tokenizer();
  json["novelty"] = 1;
  refused(json, "\"novelty\"");
  json = tiny_tokenizer();
  json["added_tokens"][0]["special"] = false;
  refused(json, "which is not special");
}

Json tiny_config() { return Json::parse(read_text_file(kTiny / "config.json", 1 << 20)); }

TEST(ModelConfig, ReadsTheTinyModel) {
  const ModelConfig config = read_model_config(kTiny);
  EXPECT_EQ(config.layers, 4);
  EXPECT_EQ(config.query_size(), 64);
  EXPECT_EQ(config.kv_size(), 32);
  EXPECT_EQ(config.rope.theta, 10'000.0);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_THAT(config.end_ids, ElementsAre(2));
}

TEST(ModelConfig, ReadsRopeThetaWhereTransformers5PutsIt) {
  Json json = tiny_config();
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "default"}};
  EXPECT_EQ(parse_model_config(json.dump()).rope.theta, 500'000.0);
}

TEST(ModelConfig, KeepsEveryEndId) {
  Json json = tiny_config();
  json["eos_token_id"] = {2, 0, 2};
  EXPECT_THAT(parse_model_config(json.dump()).end_ids, ElementsAre(2, 0));
}

// The same model as transformers 4 and as transformers 5 would write it.
TEST(ModelConfig, BothDialectsOfAScalingReadEqual) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 32}};
  Json four = tiny_config(), five = tiny_config();
  four["rope_theta"] = 5e5;
  four["rope_scaling"] = scaling;
  five.erase("rope_theta");
  five["rope_parameters"] = scaling;
  five["rope_parameters"]["rope_theta"] = 5e5;
  const ModelConfig a = parse_model_config(four.dump()), b = parse_model_config(five.dump());
  EXPECT_EQ(a.rope, b.rope);
  EXPECT_EQ(a.rope, (RopeParameters{5e5, RopeScaling::llama3, 8, 1, 4, 32}));
  four["rope_parameters"] = five["rope_parameters"];
  EXPECT_EQ(parse_model_config(four.dump()).rope, b.rope);
  four["rope_parameters"]["factor"] = 4.0;
  EXPECT_THAT([&] { parse_model_config(four.dump()); }, ThrowsMessage<FormatError>(HasSubstr("twice and differently")));
}

Json gemma_config() {
  Json json = tiny_config();
  for (const char* key : {"architectures", "hidden_act", "rope_theta", "tie_word_embeddings"}) json.erase(key);
  json["model_type"] = "gemma3_text";
  json["sliding_window"] = 8;
  return json;
}

TEST(ModelConfig, GemmaHasTwoThetasAndSlidingLayersInBothDialects) {
  Json four = gemma_config(), five = gemma_config();
  four["rope_theta"] = 2e6;
  four["rope_local_base_freq"] = 3e4;
  four["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  four["sliding_window_pattern"] = 2;
  five["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 2e6}}},
                             {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 3e4}}}};
  five["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  for (const Json& json : {four, five}) {
    const ModelConfig config = parse_model_config(json.dump());
    EXPECT_EQ(config.rope, (RopeParameters{2e6, RopeScaling::linear, 8}));
    EXPECT_EQ(config.local_rope, RopeParameters{3e4});
    EXPECT_THAT(config.sliding, ElementsAre(1, 0, 1, 0));
    EXPECT_EQ(config.window, 8);
    EXPECT_TRUE(config.tie_word_embeddings);
    EXPECT_EQ(config.query_scalar, 256);
  }
}

TEST(ModelConfig, ANullWindowIsNoneAndAnAbsentOneIsTheFamilys) {
  Json json = tiny_config();
  json["model_type"] = "mistral";
  json.erase("architectures");
  EXPECT_EQ(parse_model_config(json.dump()).window, 4096);
  json["sliding_window"] = nullptr;
  EXPECT_EQ(parse_model_config(json.dump()).window, 0);
  EXPECT_THAT(parse_model_config(json.dump()).sliding, ElementsAre(0, 0, 0, 0));
}

TEST(ModelConfig, WhatIsExportedReadsAsTheSameModelInEachDialectAlone) {
  for (const Json& source : {tiny_config(), gemma_config()}) {
    const ModelConfig config = parse_model_config(source.dump());
    const Json both = Json::parse(exported_model_config(config, false));
    Json four = both, five = both;
    for (const char* key : {"rope_parameters", "dtype"}) four.erase(key);
    for (const char* key : {"rope_theta", "rope_scaling", "rope_local_base_freq", "torch_dtype"}) five.erase(key);
    for (const Json& json : {both, four, five}) {
      const ModelConfig again = parse_model_config(json.dump());
      EXPECT_EQ(again.rope, config.rope);
      EXPECT_EQ(again.local_rope, config.local_rope);
      EXPECT_EQ(again.sliding, config.sliding);
      EXPECT_EQ(again.head_dim, config.head_dim);
      EXPECT_EQ(again.with_token_head(), config.with_token_head());
    }
  }
}

TEST(ModelConfig, RefusesByNameWhatItDoesNotImplement) {
  const auto refused = [](const char* key, const Json& value, const std::string& reason) {
    Json json = tiny_config();
    json[key] = value;
    EXPECT_THAT([&] { parse_model_config(json.dump()); }, ThrowsMessage<FormatError>(HasSubstr(reason))) << key;
  };
  refused("model_type", "mamba", "model_type is \"mamba\"");
  refused("architectures", {"LlamaForQuestionAnswering"}, "architectures");
  refused("model_type", "mixtral", "experts");
  refused("model_type", "gemma2", "soft-caps");
  refused("model_type", "gemma3", "gemma3_text");
  refused("attention_bias", 1, "attention_bias");
  refused("hidden_act", "gelu", "hidden_act");
  refused("rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}}, "\"yarn\" is not supported");
  refused("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2}}, "\"dynamic\" is not supported");
  refused("rope_scaling", {{"rope_type", "longrope"}}, "\"longrope\" is not supported");
  refused("rope_scaling", {{"type", "linear"}}, "has no factor");
  refused("rope_scaling", {{"type", "linear"}, {"factor", 0}}, "factor is 0");
  refused("rope_scaling", {{"type", "linear"}, {"factor", 2}, {"attention_factor", 1}}, "\"attention_factor\"");
  refused("rope_scaling", {{"type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}},
          "high_freq_factor must be greater");
  refused("rope_parameters", {{"rope_theta", 5e5}}, "rope_theta twice and differently");
  refused("rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}, "only read for gemma3_text");
  refused("rope_parameters", {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}, "partial_rotary_factor");
  refused("partial_rotary_factor", 0.5, "partial_rotary_factor");
  refused("num_local_experts", 8, "experts");
  refused("final_logit_softcapping", 30.0, "soft-capping");
  refused("text_config", Json::object(), "wrapper");
  refused("num_hidden_layers", 0, "num_hidden_layers");
  refused("hidden_size", 1e300, "hidden_size");
  refused("vocab_size", -1, "vocab_size");
  refused("num_key_value_heads", 3, "does not divide");
  refused("head_dim", 15, "head_dim");
  refused("rms_norm_eps", "small", "rms_norm_eps");
  refused("eos_token_id", 20, "not in the vocabulary of 20");
  refused("quantization_config", Json::object(), "quantization_config");
  refused("torch_dtype", "int8", "torch_dtype");
}

TEST(StrictJson, RefusesDepthDuplicatesAndBadBytes) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT([&] { parse_json(deep, "x"); }, ThrowsMessage<FormatError>(HasSubstr("nested deeper than 64")));
  EXPECT_THAT([] { parse_json(R"({"a":1,"a":2})", "x"); }, ThrowsMessage<FormatError>(HasSubstr("stands twice")));
  EXPECT_THROW(parse_json("\"\xff\"", "x"), FormatError);
  EXPECT_THROW(parse_json("1 2", "x"), FormatError);
  EXPECT_NO_THROW(parse_json(R"([{"a":1},{"a":2}])", "x"));
}

}  // namespace
}  // namespace rlflow
