// Do small tokenizers, made by hand, write and read text as worked out by hand, and are bad files refused by name?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/format/json.h"
#include "nodes/format/pattern.h"
#include "nodes/format/tokenizer.h"
#include "nodes/format/unicode_text.h"
#include "nodes/format/word_pattern.h"
#include "nodes/format/word_scanner.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

// Byte-level: the letters a to d and a space (Ġ) with four merges, an end token and an added word.
//   0 a  1 b  2 c  3 d  4 Ġ  5 ab  6 cd  7 abcd  8 Ġab | 9 <end>  10 <think>
Json byte_level() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "added_tokens": [
      {"id": 9, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
      {"id": 10, "content": "<think>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "Ġ": 4, "ab": 5, "cd": 6, "abcd": 7, "Ġab": 8},
      "merges": ["a b", "c d", ["ab", "cd"], ["Ġ", "ab"]]}})");
}

Tokenizer made(const Json& json, const std::string& config = R"({"eos_token": "<end>"})",
               const std::string& generation = "{}") {
  return Tokenizer(json.dump(), config, generation);
}

Ids with_control(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<TextPart> parts = {{text, true}};
  return tokenizer.encode(parts);
}

TEST(ByteLevel, MergesByRankAndNotByLength) {
  const Tokenizer tokenizer = made(byte_level());
  EXPECT_THAT(tokenizer.encode("abcd"), ElementsAre(7));
  EXPECT_THAT(tokenizer.encode("bcda"), ElementsAre(1, 6, 0));
  EXPECT_THAT(tokenizer.encode("ab abcd"), ElementsAre(5, 4, 7));  // `ab cd` has a lower rank than `Ġ ab`
  EXPECT_THAT(tokenizer.encode("ab ab"), ElementsAre(5, 8));
  EXPECT_THAT(tokenizer.encode(""), ElementsAre());
}

TEST(ByteLevel, ALongPieceIsMergedAsAShortOneIs) {
  const Tokenizer tokenizer = made(byte_level());
  std::string text;
  Ids wanted;
  for (int i = 0; i < 5000; ++i) {
    text += "abcd";
    wanted.push_back(7);
  }
  EXPECT_EQ(tokenizer.encode(text), wanted);
  wanted.insert(wanted.begin(), {3, 5});
  EXPECT_EQ(tokenizer.encode("dab" + text), wanted);
}

TEST(ByteLevel, ATokenWithoutMergesIsOneOnlyByIgnoreMerges) {
  Json json = byte_level();
  json["model"]["vocab"]["ad"] = 9;
  json["added_tokens"][0]["id"] = 10;
  json["added_tokens"][1]["id"] = 11;
  EXPECT_THAT(made(json).encode("ad"), ElementsAre(0, 3));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(made(json).encode("ad"), ElementsAre(9));
  EXPECT_THAT(made(json).encode("ada"), ElementsAre(0, 3, 0));
}

TEST(ByteLevel, AByteWithoutATokenIsNamedByItsPlace) {
  try {
    made(byte_level()).encode("ab abx");
    FAIL();
  } catch (const EncodeError& error) {
    EXPECT_EQ(error.byte, 5u);
    EXPECT_THAT(error.what(), HasSubstr("byte 5 of \"ab abx\""));
  }
}

TEST(ByteLevel, ControlTokensComeFromControlPartsAlone) {
  Json json = byte_level();
  int id = 11;
  for (const char* sign : {"<", ">", "e", "n"}) json["model"]["vocab"][sign] = id++;
  json["added_tokens"][0]["id"] = 15;
  json["added_tokens"][1]["id"] = 10;
  json["model"]["vocab"]["f"] = 9;
  const Tokenizer tokenizer = made(json);
  EXPECT_THAT(with_control(tokenizer, "a<end>b"), ElementsAre(0, 15, 1));
  EXPECT_THAT(tokenizer.encode("a<end>b"), ElementsAre(0, 11, 13, 14, 3, 12, 1));
  EXPECT_THAT(tokenizer.encode("a<think>b"), ElementsAre(0, 10, 1));  // a word of the vocabulary, not a control token
  // Half a name in each part is no name.
  const std::vector<TextPart> halves = {{"<e", true}, {"nd>", false}};
  EXPECT_THAT(tokenizer.encode(halves), ElementsAre(11, 13, 14, 3, 12));
  const std::vector<std::string> names = {"<think>"};
  const std::vector<TextPart> parts = {{"<think>", true}, {"a", false}};
  EXPECT_THAT(tokenizer.encode(parts, names), ElementsAre(10, 0));
  const std::vector<TextPart> content = {{"<think>", false}};
  EXPECT_THROW(tokenizer.encode(content, names), EncodeError);  // it has no t: only characters
}

TEST(ByteLevel, EndTokensAreEosAndThoseOfTheGenerationConfig) {
  const Tokenizer tokenizer = made(byte_level(), R"({"eos_token": "<end>"})", R"({"eos_token_id": [10, 9]})");
  EXPECT_THAT(tokenizer.end_ids(), ElementsAre(9, 10));
  EXPECT_EQ(tokenizer.decode_response(Ids{5, 9}), "ab");
  EXPECT_EQ(tokenizer.decode_response(Ids{5, 10}), "ab");
  EXPECT_EQ(tokenizer.decode_response(Ids{9, 5}), "<end>ab");
  EXPECT_THROW(made(byte_level(), "{}", R"({"eos_token_id": 11})"), FormatError);
}

TEST(ByteLevel, AnIdThatNoTokenHasIsRefused) {
  EXPECT_THROW(made(byte_level()).decode(Ids{11}), FormatError);
  EXPECT_THROW(made(byte_level()).decode(Ids{-1}), FormatError);
}

// Every byte of U+1F98A (f0 9f a6 8a) alone.
TEST(ByteLevel, AStreamHoldsBytesBackUntilACharacterIsWhole) {
  Json json = byte_level();
  json["model"]["vocab"] = {{"ð", 0}, {"Ł", 1}, {"¦", 2}, {"Ĭ", 3}, {"a", 4}};
  json["model"]["merges"] = Json::array();
  json["added_tokens"] = Json::array();
  const Tokenizer tokenizer = made(json, "{}");
  EXPECT_THAT(tokenizer.encode("🦊a"), ElementsAre(0, 1, 2, 3, 4));
  DecodeStream stream = tokenizer.decode_stream();
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.push(2), "");
  EXPECT_EQ(stream.push(3), "🦊");
  EXPECT_EQ(stream.push(4), "a");
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.push(4),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(stream.push(1), "\xef\xbf\xbd");
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
}

// Of characters, in the manner of Llama-2: 0 <unk>, 1 ▁, 2 a, 3 b, 4 ▁a, then the bytes from 5 on.
Json with_fallback() {
  Json json = byte_level();
  Json vocab = {{"<unk>", 0}, {"▁", 1}, {"a", 2}, {"b", 3}, {"▁a", 4}};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    vocab[std::string("<0x") + kDigits[static_cast<std::size_t>(byte >> 4)] +
          kDigits[static_cast<std::size_t>(byte & 15)] + ">"] = 5 + byte;
  }
  json["model"]["vocab"] = vocab;
  json["model"]["merges"] = {"▁ a"};
  json["model"]["byte_fallback"] = true;
  json["model"]["unk_token"] = "<unk>";
  json["added_tokens"] = Json::array();
  json["pre_tokenizer"] = nullptr;
  json["normalizer"] = Json::parse(R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})");
  json["decoder"] = Json::parse(R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  return json;
}

TEST(ByteFallback, ACharacterWithoutATokenIsItsBytes) {
  const Tokenizer tokenizer = made(with_fallback(), "{}");
  EXPECT_THAT(tokenizer.encode("a ab"), ElementsAre(4, 4, 3));
  EXPECT_THAT(tokenizer.encode("ä"), ElementsAre(1, 5 + 0xc3, 5 + 0xa4));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("  aä b")), "  aä b");
}

TEST(ByteFallback, OneWrongByteSpoilsItsRun) {
  const Tokenizer tokenizer = made(with_fallback(), "{}");
  EXPECT_EQ(tokenizer.decode(Ids{5 + 0xc3, 5 + 0xa4, 2}), "äa");
  EXPECT_EQ(tokenizer.decode(Ids{5 + 0xc3, 5 + 0xa4, 5 + 0xff, 2}),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
            "a");
}

TEST(Characters, WithoutFallbackAnUnknownOneIsTheUnknownToken) {
  Json json = with_fallback();
  json["model"]["byte_fallback"] = false;
  json["normalizer"] = nullptr;
  EXPECT_THAT(made(json, "{}").encode("xya"), ElementsAre(0, 0, 2));
  json["model"]["fuse_unk"] = true;
  EXPECT_THAT(made(json, "{}").encode("xyax"), ElementsAre(0, 2, 0));
  json["model"].erase("unk_token");
  EXPECT_THROW(made(json, "{}").encode("xa"), EncodeError);
}

TEST(Tokenizer, WhatThePostProcessorPutsFirstBeginsAPromptOnce) {
  Json json = byte_level();
  json["post_processor"] = Json::parse(R"({"type": "TemplateProcessing", "pair": [], "single": [
    {"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<end>": {"id": "<end>", "ids": [9], "tokens": ["<end>"]}}})");
  EXPECT_THAT(made(json).encode_prompt("ab"), ElementsAre(9, 5));
  EXPECT_THAT(made(json).encode("ab"), ElementsAre(5));
}

TEST(Tokenizer, BytesThatAreNoUtf8CountAsReplacementCharacters) {
  const Tokenizer tokenizer = made(with_fallback(), "{}");
  EXPECT_EQ(tokenizer.encode("a\xff\xc3"), tokenizer.encode("a\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT_EQ(valid_utf8("\xf0\x9f\xa6"
                       "a\xed\xa0\x80\xe2\x82"),
            "\xef\xbf\xbd"
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

struct Bad {
  const char* pointer;  // where in the file
  Json value;           // what stands there instead
  const char* reason;
};

TEST(BadTokenizer, IsRefusedByName) {
  const std::vector<Bad> bad = {
      {"/novelty", 1, "top level: the key \"novelty\""},
      {"/version", "2.0", "version: \"2.0\""},
      {"/truncation", {{"max_length", 4}}, "truncation"},
      {"/model/type", "Unigram", "model: the type \"Unigram\""},
      {"/model/dropout", 0.1, "dropout 0.1"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix \"</w>\""},
      {"/model/speed", 1, "model: the key \"speed\""},
      {"/model/unk_token", "<unk>", "unk_token \"<unk>\" is not in the vocabulary"},
      {"/model/byte_fallback", true, "byte_fallback after ByteLevel"},
      {"/model/vocab/a", 1, "id 1 is given twice"},
      {"/model/vocab/a", 99, "id 99 of \"a\" is not one of 0 to 10"},
      {"/model/vocab/a", -1, "id -1 of \"a\""},
      {"/model/vocab/a", "0", "id \"0\" of \"a\""},
      {"/model/vocab", Json::object(), "vocab is not an object of at least one token"},
      {"/model/merges/0", "a z", "merge 0 names \"z\""},
      {"/model/merges/0", "b c", "merge 0 names \"bc\""},
      {"/model/merges/0", "a b c", "merge 0 \"a b c\" is not two tokens"},
      {"/model/merges/0", 7, "merge 0 is neither"},
      {"/model/merges/1", "a b", "the pair of ids 0 and 1 stands twice"},
      {"/model/merges/2", {"ab"}, "merge 2 is not a pair"},
      {"/added_tokens/0/id", 4, "id 4 is given twice"},
      {"/added_tokens/1/id", 12, "leaves ids without a token"},
      {"/added_tokens/0/id", 1 << 20, "is not one of 0 to"},
      {"/added_tokens/1/content", "<end>", "\"<end>\" stands twice"},
      {"/added_tokens/0/content", "a", "has id 9, but 0 in the vocabulary"},
      {"/added_tokens/0/color", 1, "added_tokens: the key \"color\""},
      {"/pre_tokenizer/type", "Whitespace", "pre_tokenizer: the type \"Whitespace\""},
      {"/pre_tokenizer", nullptr, "ByteLevel in only one"},
      {"/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}}, "is not one"},
      {"/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "\\w+"}}}, {"behavior", "Isolated"}}, "\"\\\\w\""},
      {"/normalizer", {{"type", "StripAccents"}}, "normalizer: the type \"StripAccents\""},
      {"/post_processor", {{"type", "BertProcessing"}}, "post_processor: the type \"BertProcessing\""},
      {"/decoder", {{"type", "WordPiece"}}, "decoder: the step"},
      {"/decoder", nullptr, "decoder: none"},
  };
  for (const Bad& one : bad) {
    Json json = byte_level();
    json[Json::json_pointer(one.pointer)] = one.value;
    EXPECT_THAT([&] { made(json); }, ::testing::ThrowsMessage<FormatError>(HasSubstr(one.reason)))
        << one.pointer << " " << one.value;
  }
}

TEST(BadTokenizer, ASpecialTokenThatMergesMakeIsRefused) {
  Json json = byte_level();
  json["added_tokens"][0]["content"] = "abcd";
  json["added_tokens"][0]["id"] = 7;
  json["added_tokens"][1]["id"] = 9;
  EXPECT_THAT([&] { made(json, "{}"); },
              ::testing::ThrowsMessage<FormatError>(HasSubstr("merge 2, which makes a special")));
}

TEST(BadTokenizer, CutAnywhereItIsRefused) {
  const std::string text = byte_level().dump();
  for (std::size_t length = 0; length < text.size(); length += 3) {
    EXPECT_THROW(Tokenizer(text.substr(0, length), "{}"), FormatError) << length;
  }
}

TEST(BadTokenizer, AKeyThatStandsTwiceIsRefused) {
  std::string text = byte_level().dump();
  text.replace(text.find("\"b\":1"), 5, "\"a\":1");
  EXPECT_THAT([&] { Tokenizer(text, "{}"); },
              ::testing::ThrowsMessage<FormatError>(HasSubstr("key \"a\" stands twice")));
}

TEST(BadTokenizer, NamesOfTheConfigAreTokens) {
  EXPECT_THAT([] { made(byte_level(), R"({"eos_token": "<stop>"})"); },
              ::testing::ThrowsMessage<FormatError>(HasSubstr("eos_token \"<stop>\" is not in the vocabulary")));
}

// The scanner and PCRE2 read the same patterns independently.
TEST(WordScanner, CutsAsPcre2DoesWithTheSamePattern) {
  const std::string rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string begin = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  const std::vector<std::string> patterns = {std::string(kGpt2Words), begin + "{1,3}" + rest, begin + rest};
  const std::vector<std::string> alphabet = {"a", "Z",  "é",    "漢",       "'",  "s",  "'LL", "1",
                                             "٣", "½",  " ",    "  ",       "\n", "\r", "\t",  "\xc2\xa0",
                                             ".", "!?", "🦊", "\xcc\x81", "ſ",  "_"};
  std::uint32_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (int n = 0; n < 12; ++n) {
      state = state * 1664525u + 1013904223u;
      text += alphabet[(state >> 8) % alphabet.size()];
    }
    for (const std::string& written : patterns) {
      const auto rule = word_rule_of(written);
      ASSERT_TRUE(rule) << written;
      static const std::vector<std::unique_ptr<Pattern>> kCompiled = [&] {
        std::vector<std::unique_ptr<Pattern>> all;
        for (const std::string& one : patterns) all.push_back(std::make_unique<Pattern>(pcre2_word_pattern(one)));
        return all;
      }();
      const Pattern& pattern = *kCompiled[static_cast<std::size_t>(*rule)];
      for (std::size_t at = 0; at < text.size();) {
        const auto match = pattern.find_from(text, at);
        const std::size_t end = word_end(*rule, text, at);
        ASSERT_TRUE(match && match->begin == at && match->end == end)
            << written << " at " << at << " of " << Json(text);
        at = end;
      }
    }
  }
}

TEST(WordPattern, RefusesWhatTwoLibrariesReadDifferently) {
  EXPECT_EQ(pcre2_word_pattern(R"(\s+|[^\s\p{L}]|\[\S)"),
            R"([\t-\r\x{85}\p{Z}]+|[^\t-\r\x{85}\p{Z}\p{L}]|\[[^\t-\r\x{85}\p{Z}])");
  for (const char* pattern :
       {R"(\w)", R"(\b)", R"(\h)", R"([\S])", "[a[b]]", "[a&&b]", "^a", "a$", "a{1,2}+", "(?x:a)", "(*F)", "\\"}) {
    EXPECT_THROW(pcre2_word_pattern(pattern), FormatError) << pattern;
  }
}

}  // namespace
}  // namespace rlflow
