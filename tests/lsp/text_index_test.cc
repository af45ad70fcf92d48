// Do UTF-16 columns and incremental edits mean the same bytes to the server and to the editor?
#include "cli/lsp/text_index.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rlflow::lsp {
namespace {

using nlohmann::json;

// Bytes: a 1, é 2, 😀 4 (two UTF-16 units), b 1.
const std::string kMixed =
    "a\xC3\xA9\xF0\x9F\x98\x80"
    "b\r\nnext";

TEST(TextIndex, ColumnsCountUtf16Units) {
  TextIndex index(kMixed);
  EXPECT_EQ(index.byte({0, 1}), 1u);
  EXPECT_EQ(index.byte({0, 2}), 3u);
  EXPECT_EQ(index.byte({0, 4}), 7u);
  EXPECT_EQ(index.byte({1, 2}), 12u);
  EXPECT_EQ(index.position(7).character, 4u);
  EXPECT_EQ(index.position(12).line, 1u);
  EXPECT_EQ(index.position(12).character, 2u);
}

TEST(TextIndex, AColumnInsideAPairIsBeforeIt) { EXPECT_EQ(TextIndex(kMixed).byte({0, 3}), 3u); }

TEST(TextIndex, PlacesOutsideMoveInside) {
  TextIndex index(kMixed);
  EXPECT_EQ(index.byte({0, 99}), 8u);  // before CR LF
  EXPECT_EQ(index.byte({7, 0}), kMixed.size());
  EXPECT_EQ(index.position(9999).line, 1u);
  EXPECT_EQ(index.position(9).character, 5u);  // between CR and LF
}

TEST(TextIndex, EveryByteOfACharacterStartComesBack) {
  TextIndex index(kMixed);
  for (std::uint32_t byte : {0u, 1u, 3u, 7u, 8u, 10u, 11u, 14u}) EXPECT_EQ(index.byte(index.position(byte)), byte);
}

json change(std::uint32_t line, std::uint32_t from, std::uint32_t to, const std::string& text) {
  return {{"range", {{"start", {{"line", line}, {"character", from}}}, {"end", {{"line", line}, {"character", to}}}}},
          {"text", text}};
}

TEST(ApplyChange, ReplacesARange) {
  std::string text = kMixed;
  apply_change(text, change(0, 2, 4, "x"));  // the emoji
  EXPECT_EQ(text, "a\xC3\xA9xb\r\nnext");
  apply_change(text, change(1, 4, 4, "!"));
  EXPECT_EQ(text, "a\xC3\xA9xb\r\nnext!");
}

TEST(ApplyChange, WithoutARangeTheTextIsNew) {
  std::string text = "old";
  apply_change(text, {{"text", "new"}});
  EXPECT_EQ(text, "new");
}

}  // namespace
}  // namespace rlflow::lsp
