// Is each of several independent mistakes of a file told, none twice, and nothing that only follows from another?
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/compiler/mistakes.h"

namespace rlflow::testing {
namespace {

std::string program() { return read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/tiny_grpo.rlflow"); }

std::string spoilt(std::string text, const std::vector<std::pair<std::string, std::string>>& edits) {
  for (const auto& [from, to] : edits) {
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<std::string> errors_of(const std::string& text, const Catalog& known) {
  Analysis analysis = analyze(request_for(text, project_root("recovery")), known);
  std::vector<std::string> errors;
  for (const Diagnostic& d : analysis.diagnostics) {
    Position at = analysis.sources.position(d.primary.file, d.primary.begin);
    if (d.level == Level::error) errors.push_back("line " + std::to_string(at.line) + " " + d.code);
  }
  return errors;
}

TEST(Recovery, FiveMistakesGiveFiveErrors) {
  const Catalog known = catalog();
  const std::string syntax = spoilt(program(), {{"group here", "grup here"},
                                                {"take(train, 32)", "take(train, 32"},
                                                {"estimator = grpo", "estimator grpo"},
                                                {"policy -> sampler", "policy > sampler"},
                                                {"stop after", "stop afetr"}});
  EXPECT_EQ(errors_of(syntax, known).size(), 5u) << ::testing::PrintToString(errors_of(syntax, known));
  const std::string names = spoilt(program(), {{"\"exact_answer\"", "\"exact_anser\""},
                                               {"take(train", "take(trian"},
                                               {"n=8) { temperature", "n=8) { temprature"},
                                               {"advantage(r)", "advantge(r)"},
                                               {"sync policy", "sync polcy"}});
  EXPECT_EQ(errors_of(names, known).size(), 5u) << ::testing::PrintToString(errors_of(names, known));
  const std::string mixed = spoilt(program(), {{"dtype = f32,", "dtype = f64,"},
                                               {"retry = 2", "retry = \"two\""},
                                               {"advantage(r)", "advantage(traj)"},
                                               {"every 10 steps", "every 0 steps"},
                                               {"{ keep = 2 }", "{ keep == 2 }"}});
  EXPECT_EQ(errors_of(mixed, known).size(), 5u) << ::testing::PrintToString(errors_of(mixed, known));
}

// Names that could not be read are no two of one name.
TEST(Recovery, TwoMissingNamesAreNoDuplicate) {
  const Catalog known = catalog();
  const std::string text = spoilt(program(), {{"reward exact", "reward 1exact"}, {"flow grpo {", "flow {"}});
  EXPECT_EQ(errors_of(text, known), (std::vector<std::string>{"line 12 E0101", "line 14 E0101"}));
}

// What a definition with a taken name should have been called is not told at each use; another misspelling is.
TEST(Recovery, ATakenNameIsToldOnce) {
  const Catalog known = catalog();
  EXPECT_EQ(errors_of(spoilt(program(), {{"data test ", "data train"}}), known).size(), 1u);
  EXPECT_EQ(errors_of(spoilt(program(), {{"  adv   : adv[B]", "  r     : adv[B]"}}), known).size(), 1u);
  EXPECT_EQ(errors_of(spoilt(program(), {{"data test ", "data train"}, {"take(train", "take(trian"}}), known).size(),
            2u);
}

TEST(Recovery, NothingFollowsFromANameThatIsBroken) {
  const Catalog known = catalog();
  // Each of these names is used on three lines or more.
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"model policy = load", "model policy = laod"},
                                                        {"model policy =", "model policy"},
                                                        {"data train =", "data train ="},
                                                        {"traj  : traj[B, T] = rollout", "traj  : traj[B, T] = rolout"},
                                                        {"traj  : traj[B, T] =", "traj  : traj[B, T]"},
                                                        {"group here = cpu", "group here = cpus"},
                                                        {"reward exact = builtin", "reward exact = bultin"}}) {
    std::vector<std::string> errors = errors_of(spoilt(program(), {{from, to}}), known);
    EXPECT_LE(errors.size(), 1u) << to << ::testing::PrintToString(errors);
  }
}

// One edit of one line, which gives one error.
struct Single {
  std::size_t line;
  std::string text;  // the line, spoilt
  std::string error;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<Single> single_line_mistakes(const Catalog& known) {
  const std::vector<std::string> right = lines_of(program());
  std::vector<Single> list;
  for (const fs::path& file : mistake_files()) {
    for (const Mistake& mistake : read_mistakes(file)) {
      if (mistake.has_cluster || !mistake.request.overrides.empty() || mistake.request.texts.empty()) continue;
      const std::string& text = mistake.request.texts.begin()->second;
      std::vector<std::string> lines = lines_of(text);
      std::vector<std::string> errors =
          lines.size() == right.size() ? errors_of(text, known) : std::vector<std::string>();
      if (errors.size() != 1) continue;
      std::vector<std::size_t> changed;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i] != right[i]) changed.push_back(i);
      }
      if (changed.size() == 1) list.push_back({changed[0], lines[changed[0]], errors[0]});
    }
  }
  return list;
}

// Mistakes in different lines do not make messages that none of them makes alone. Some fall silent: what is said of a
// name rests on the line that defines it.
TEST(Recovery, MistakesTogetherGiveNoOtherErrorsThanEachAlone) {
  const Catalog known = catalog();
  std::vector<Single> singles = single_line_mistakes(known);
  ASSERT_GT(singles.size(), 100u);
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines = lines_of(program());
    std::set<std::size_t> used;
    std::multiset<std::string> alone;
    for (int i = 0; i < 5; ++i) {
      const Single& single = singles[random() % singles.size()];
      if (!used.insert(single.line).second) continue;
      lines[single.line] = single.text;
      alone.insert(single.error);
    }
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    for (const std::string& error : errors_of(text, known)) {
      auto same = alone.find(error);
      EXPECT_NE(same, alone.end()) << "nobody alone: " << error << "\n" << text;
      if (same != alone.end()) alone.erase(same);
    }
  }
}

}  // namespace
}  // namespace rlflow::testing
