// Does hovering tell kind, dimensions with their numbers, doc, default and range?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lsp/editor.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string hover(const std::string& from, const std::string& to) {
  Editor editor;
  editor.open(changed(from, to));
  json answer = editor.at_cursor("hover");
  return answer.is_null() ? "" : answer["contents"]["value"].get<std::string>();
}

TEST(Hover, AnEdgeShowsItsTypeWithNumbers) {
  EXPECT_THAT(hover("score(exact, traj)", "score(exact, tr|aj)"),
              AllOf(HasSubstr("traj : traj[B=256, T] = rollout(…)"), HasSubstr("`B` = 256, made by `traj`"),
                    HasSubstr("`T`, made by `traj`, at most 34 (`max_new`)")));
}

TEST(Hover, AParameterShowsValueRangeAndDoc) {
  EXPECT_THAT(hover("stop after steps", "stop after |steps"),
              AllOf(HasSubstr("param steps : int = 100 in 1..10000"), HasSubstr("optimizer steps"),
                    HasSubstr("1 to 10000, both ends included")));
}

TEST(Hover, ASettingShowsDefaultRangeDocAndValue) {
  EXPECT_THAT(hover("temperature = 1.0", "temp|erature = 1.0"),
              AllOf(HasSubstr("`temperature` of `rollout`"), HasSubstr("divides the logits"),
                    HasSubstr("takes: number >= 0"), HasSubstr("default: 1\n"), HasSubstr("here: `1`")));
  EXPECT_THAT(hover("adamw(lr=1e-4)", "adamw(l|r=1e-4)"), HasSubstr("learning rate"));
}

TEST(Hover, AnOpShowsTheSignatureThatWasChosen) {
  EXPECT_THAT(hover("update(policy", "upd|ate(policy"),
              AllOf(HasSubstr("update(model, traj, adv, [old=], [ref=]) -> metrics"), HasSubstr("policy")));
}

TEST(Hover, DeclarationsAndBuiltins) {
  EXPECT_THAT(hover("= policy on", "= pol|icy on"), HasSubstr("model policy = load(\"m\") on here { trainable"));
  EXPECT_THAT(hover("\"exact_answer\"", "\"exact_|answer\""), HasSubstr("1 if the response ended"));
  EXPECT_THAT(hover("batch : prompts", "batch : pro|mpts"), HasSubstr("prompts: token ids"));
}

TEST(Hover, AGroupShowsItsDevices) {
  EXPECT_THAT(hover("on here {", "on he|re {"), HasSubstr("group here = cpu { threads = 2 }"));
}

TEST(Hover, WordsOfTheLanguageShowTheirForm) {
  EXPECT_THAT(hover("policy = load", "policy = lo|ad"), HasSubstr("load(\"path\")"));
  EXPECT_THAT(hover("sync policy", "sy|nc policy"), HasSubstr("sync model -> replica every 1 step lag 0"));
  EXPECT_THAT(hover("step lag 0", "step la|g 0"), HasSubstr("off_policy"));
  EXPECT_THAT(hover("every 25", "ev|ery 25"), HasSubstr("and at start"));
  EXPECT_THAT(hover("stop after", "st|op after"), HasSubstr("number of steps"));
  EXPECT_THAT(hover("= cpu {", "= cp|u {"), HasSubstr("Threads"));
  EXPECT_THAT(hover("group here", "gr|oup here"), HasSubstr("Devices that compute"));
}

TEST(Hover, ADimensionShowsItsSizeAndMaker) {
  EXPECT_THAT(hover("prompts[P]", "prompts[P|]"), HasSubstr("`P` = 32, made by `batch`"));
  EXPECT_EQ(hover("prompts[P]", "prompts[Q|, R]"), "");
}

TEST(Hover, WhiteSpaceAndCommentsSayNothing) {
  EXPECT_EQ(hover("rlflow 1\n", "rlflow 1\n|\n"), "");
  EXPECT_EQ(hover("rlflow 1\n", "rlflow 1\n# tr|aj\n"), "");
}

// Its range is the name, in UTF-16 columns.
TEST(Hover, TheRangeIsTheName) {
  Editor editor;
  editor.open(changed("score(exact, traj)", "score(exact, tr|aj)"));
  EXPECT_EQ(editor.at_cursor("hover")["range"]["start"], json({{"line", 11}, {"character", 19}}));
}

}  // namespace
}  // namespace rlflow::testing
