// Words, numbers and encodings: the small functions under the passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/arithmetic.h"
#include "compiler/names.h"
#include "compiler/parse.h"
#include "compiler/source.h"
#include "compiler/syntax_tree.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

using ::testing::ElementsAre;

TEST(Text, DistanceCountsSwapsOnce) {
  EXPECT_EQ(edit_distance("advantage", "advantage"), 0u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u);
  EXPECT_EQ(edit_distance("clp", "clip"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Text, SuggestionsAreCloseSortedAndFew) {
  EXPECT_THAT(close_names("trj", {"traj", "batch", "r", "tr"}), ElementsAre("tr", "traj"));
  EXPECT_THAT(close_names("x", {"temperature"}), ElementsAre());
  EXPECT_THAT(close_names("aaa", {"aab", "aac", "aad", "aae"}), ElementsAre("aab", "aac", "aad"));
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1024), "1,024");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(2048, "step"), "2,048 steps");
}

TEST(Text, InvalidUtf8IsFoundWhereItStands) {
  EXPECT_EQ(first_invalid_utf8("plain \xC3\xA9 \xF0\x9F\x98\x80"), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xFF"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xC0\xAF"), 1u);          // overlong
  EXPECT_EQ(first_invalid_utf8("a\xED\xA0\x80"), 1u);      // a surrogate
  EXPECT_EQ(first_invalid_utf8("a\xF4\x90\x80\x80"), 1u);  // beyond the last code point
  EXPECT_EQ(first_invalid_utf8("a\xE2\x82"), 1u);          // cut off
}

TEST(Text, PositionsCountCodePoints) {
  SourceMap sources;
  FileId file = sources.add("x", "a\n\xC3\xA9z\n");
  Position at = sources.position(file, 4);
  EXPECT_EQ(at.line, 2u);
  EXPECT_EQ(at.column, 2u);
  EXPECT_EQ(sources.position(file, 99).line, 3u);
  EXPECT_EQ(sources.line_text(file, 2), "\xC3\xA9z");
}

TEST(Text, ArithmeticKeepsWholeNumbersAndUnits) {
  auto number = [](std::int64_t n) { return Value(n); };
  EXPECT_EQ(*apply("+", number(2), number(3)).value, number(5));
  EXPECT_EQ(*apply("/", number(6), number(3)).value, number(2));
  EXPECT_EQ(*apply("/", number(7), number(2)).value, Value(3.5));
  EXPECT_EQ(*apply("%", number(7), number(4)).value, number(3));
  EXPECT_EQ(*apply("*", Value(Quantity{4, Unit::tokens}), number(2)).value, Value(Quantity{8, Unit::tokens}));
  EXPECT_EQ(*apply("<", number(1), Value(1.5)).value, Value(true));
  EXPECT_FALSE(apply("+", Value(Quantity{4, Unit::tokens}), number(2)).value.has_value());
  EXPECT_FALSE(apply("%", number(7), number(0)).value.has_value());
  EXPECT_FALSE(apply("+", Value(std::int64_t{INT64_MAX}), number(1)).value.has_value());
  EXPECT_EQ(*with_unit(1.5, "s").value, Value(Quantity{1500, Unit::milliseconds}));
  EXPECT_EQ(*with_unit(2, "KiB").value, Value(Quantity{2048, Unit::bytes}));
  EXPECT_FALSE(with_unit(0.5, "tokens").value.has_value());
}

TEST(Text, TooLargeAndMissingFilesAreSaid) {
  const Catalog known = catalog();
  CompileRequest large = request_for("rlflow 1\n#" + std::string(1 << 20, 'x'), project_root("text"));
  EXPECT_THAT(codes_of(analyze(large, known)), ElementsAre("E0108"));
  CompileRequest missing;
  missing.path = "/nowhere/at/all.rlflow";
  Analysis analysis = analyze(missing, known);
  EXPECT_THAT(codes_of(analysis), ElementsAre("E0111"));
  EXPECT_FALSE(analysis.readable);
}

// The numbers of tokens that parse.cc and the messages share.
TEST(Text, TokensHaveTheirNames) {
  EXPECT_EQ(describe(Terminal::k_import), "`import`");
  EXPECT_EQ(describe(Terminal::rbrace), "`}`");
  EXPECT_EQ(describe(Terminal::not_equal), "`!=`");
  EXPECT_EQ(describe(Terminal::newline), "the end of the line");
  EXPECT_EQ(describe(Terminal::end), "the end of the file");
  std::vector<Lexeme> lexemes = lex("x->\"a\" # c\n");
  std::vector<Terminal> types;
  for (const Lexeme& lexeme : lexemes) types.push_back(lexeme.type);
  EXPECT_THAT(types, ElementsAre(Terminal::id, Terminal::arrow, Terminal::string, Terminal::space, Terminal::comment,
                                 Terminal::newline, Terminal::end));
}

}  // namespace
}  // namespace rlflow::testing
