// Are stop texts found however tokens divide them, and is the text before them what is left?
#include "nodes/format/response_text.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace rlflow {
namespace {

using Tokens = std::vector<std::int32_t>;

// A tokenizer of one token a character.
const Tokenizer& tokenizer() {
  static const Tokenizer instance = read_tokenizer(std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny");
  return instance;
}

std::size_t stops_after(const StopTexts& stop, const Tokens& ids) {
  for (std::size_t size = 1; size <= ids.size(); ++size) {
    if (stop.completed_by_last(std::span(ids).first(size))) return size;
  }
  return 0;
}

TEST(StopTexts, AreFoundWhenTheirLastCharacterIsThereAndNotBefore) {
  const Tokens ids = tokenizer().encode("12+34=<4+2=6>46");
  const StopTexts stop(tokenizer(), {"=<4"});
  EXPECT_EQ(stops_after(stop, ids), 8u);
  EXPECT_EQ(response_text(tokenizer(), std::span(ids).first(8), FinishReason::stop, stop.texts()), "12+34");
  EXPECT_EQ(stops_after(StopTexts(tokenizer(), {"9"}), ids), 0u);
  EXPECT_EQ(stops_after(StopTexts(tokenizer(), {"1"}), ids), 1u);
  EXPECT_EQ(stops_after(StopTexts(tokenizer(), {"46", "2=", "34=<4+2=6>4"}), ids), 11u);
}

// At every place of a text, at every length: the window that is decoded reaches far enough.
TEST(StopTexts, EveryPartOfATextIsFoundWhereItEnds) {
  const std::string text = "1234567890+=<>1029384756";
  const Tokens ids = tokenizer().encode(text);
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    for (std::size_t length = 1; begin + length <= text.size(); ++length) {
      const std::string part = text.substr(begin, length);
      const std::size_t end = text.find(part) + length;
      const StopTexts stop(tokenizer(), {part});
      ASSERT_EQ(stops_after(stop, ids), end) << part;
      EXPECT_EQ(response_text(tokenizer(), std::span(ids).first(end), FinishReason::stop, {part}),
                text.substr(0, text.find(part)));
    }
  }
}

// A text that stood there before min_new tokens is not the one that ended the response.
TEST(StopTexts, TheNewestCountsAlone) {
  const Tokens ids = tokenizer().encode("7171");
  const StopTexts stop(tokenizer(), {"71"});
  EXPECT_TRUE(stop.completed_by_last(std::span(ids).first(2)));
  EXPECT_FALSE(stop.completed_by_last(std::span(ids).first(3)));
  EXPECT_TRUE(stop.completed_by_last(ids));
  EXPECT_EQ(response_text(tokenizer(), ids, FinishReason::stop, stop.texts()), "71");
  EXPECT_EQ(response_text(tokenizer(), ids, FinishReason::length, stop.texts()), "7171");
}

TEST(StopTexts, SpecialTokensCountByName) {
  Tokens ids = tokenizer().encode("12");
  ids.push_back(tokenizer().bos());
  const StopTexts stop(tokenizer(), {"<bos>"});
  EXPECT_TRUE(stop.completed_by_last(ids));
  EXPECT_EQ(stop.position(ids), 2u);
}

}  // namespace
}  // namespace rlflow
