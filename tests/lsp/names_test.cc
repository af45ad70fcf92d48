// Are definition, references, rename, formatting and inlay hints those of the program?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/lsp/text_index.h"
#include "tests/lsp/editor.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

json range(int line, int from, int to) {
  return {{"start", {{"line", line}, {"character", from}}}, {"end", {{"line", line}, {"character", to}}}};
}

// Later edits first, so that the places of the others stay true.
std::string applied(std::string text, json edits) {
  std::sort(edits.begin(), edits.end(),
            [](const json& a, const json& b) { return a["range"]["start"] > b["range"]["start"]; });
  for (const json& edit : edits) lsp::apply_change(text, {{"range", edit["range"]}, {"text", edit["newText"]}});
  return text;
}

TEST(Definition, OfAnEdgeIsItsNode) {
  Editor editor;
  editor.open(changed("score(exact, traj)", "score(exact, tr|aj)"));
  EXPECT_EQ(editor.at_cursor("definition"), json({{"uri", kUri}, {"range", range(10, 2, 6)}}));
}

TEST(Definition, OfAPeriodIsItsParameter) {
  Editor editor;
  editor.open(changed("stop after steps", "stop after steps|"));
  EXPECT_EQ(editor.at_cursor("definition"), json({{"uri", kUri}, {"range", range(1, 6, 11)}}));
}

TEST(Definition, OfAnImportedNameStandsInItsFile) {
  Editor editor;
  const std::string library = "file:///nowhere/lib.rlflow";
  editor.open("rlflow 1\nparam n : int = 1\n", library);
  editor.open("rlflow 1\nimport \"lib.rlflow\" as l\nparam k : int = l.|n\n");
  EXPECT_EQ(editor.at_cursor("definition"), json({{"uri", library}, {"range", range(1, 6, 7)}}));
  editor.open("rlflow 1\nimport \"lib|.rlflow\" as l\nparam k : int = l.n\n");
  EXPECT_EQ(editor.at_cursor("definition")["uri"], library);
}

TEST(Definition, OfAWordOfASettingIsNothing) {
  Editor editor;
  editor.open(changed("loss = ppo", "loss = pp|o"));
  EXPECT_EQ(editor.at_cursor("definition"), nullptr);
}

TEST(References, AreDefinitionAndUses) {
  Editor editor;
  editor.open(changed("replica sampler =", "replica sam|pler ="));
  json found = editor.at_cursor("references", {{"context", {{"includeDeclaration", true}}}});
  ASSERT_EQ(found.size(), 3u) << found.dump(1);
  found = editor.at_cursor("references", {{"context", {{"includeDeclaration", false}}}});
  EXPECT_EQ(found.size(), 2u);
}

TEST(References, ReachOpenProgramsThatImportTheFile) {
  Editor editor;
  editor.open("rlflow 1\nimport \"lib.rlflow\" as l\nparam k : int = l.n\n");
  editor.open("rlflow 1\nparam |n : int = 1\n", "file:///nowhere/lib.rlflow");
  json found = editor.at_cursor("references", {{"context", {{"includeDeclaration", false}}}});
  EXPECT_EQ(found, json::array({{{"uri", kUri}, {"range", range(2, 18, 19)}}}));
}

TEST(Rename, ChangesEveryUseAndNothingElse) {
  Editor editor;
  editor.open(changed("model policy =", "model pol|icy ="));
  json changes = editor.at_cursor("rename", {{"newName", "actor"}})["changes"];
  std::string expected = kProgram;
  for (std::size_t at = expected.find("policy"); at != std::string::npos; at = expected.find("policy"))
    expected.replace(at, 6, "actor");
  EXPECT_EQ(applied(kProgram, changes[kUri]), expected);
}

// A parameter called like a word of a setting: the word stays.
TEST(Rename, LeavesWordsOfSettingsAlone) {
  Editor editor;
  const std::string text =
      "rlflow 1\nparam f32 : int = 2\ngroup g = cpu { threads = f32 }\nmodel m = load(\"x\") on g { dtype = f32 }\n";
  editor.open("rlflow 1\nparam |f32 : int = 2\n" + text.substr(29));
  json changes = editor.at_cursor("rename", {{"newName", "two"}})["changes"];
  EXPECT_EQ(
      applied(text, changes[kUri]),
      "rlflow 1\nparam two : int = 2\ngroup g = cpu { threads = two }\nmodel m = load(\"x\") on g { dtype = f32 }\n");
}

TEST(Rename, OfALibrarysNameReachesItsOpenUsers) {
  Editor editor;
  const std::string library = "file:///nowhere/lib.rlflow";
  editor.open("rlflow 1\nimport \"lib.rlflow\" as l\nparam k : int = l.n + l.n\n");
  editor.open("rlflow 1\nparam |n : int = 1\n", library);
  json changes = editor.at_cursor("rename", {{"newName", "count"}})["changes"];
  EXPECT_EQ(changes[library].size(), 1u);
  EXPECT_EQ(changes[kUri], json::array({{{"range", range(2, 18, 19)}, {"newText", "count"}},
                                        {{"range", range(2, 24, 25)}, {"newText", "count"}}}));
}

TEST(Rename, RefusesWhatWouldBreakTheProgram) {
  Editor editor;
  editor.open(changed("model policy =", "model pol|icy ="));
  for (const char* name : {"ref", "every", "9a", "", "a.b"}) {
    json answer = editor.ask(
        "textDocument/rename",
        {{"textDocument", {{"uri", kUri}}}, {"position", {{"line", 3}, {"character", 7}}}, {"newName", name}});
    EXPECT_TRUE(answer.contains("error")) << name;
  }
}

// `threads = f32` would be a parameter still, but `dtype = f32` is the word.
TEST(Rename, IsRefusedWhereAUseWouldBecomeAWord) {
  Editor editor;
  editor.open("rlflow 1\nparam |kind : word = f32\ngroup g = cpu\nmodel m = load(\"x\") on g { dtype = kind }\n");
  json answer = editor.ask(
      "textDocument/rename",
      {{"textDocument", {{"uri", kUri}}}, {"position", {{"line", 1}, {"character", 6}}}, {"newName", "bf16"}});
  ASSERT_TRUE(answer.contains("error")) << answer.dump();
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), ::testing::HasSubstr("something else"));
}

// A use in a line that cannot be read would keep the old name.
TEST(Rename, WaitsUntilEveryLineCanBeRead) {
  Editor editor;
  editor.open("rlflow 1\nparam |a : int = 1\nparam b : int = a +\n");
  json answer =
      editor.ask("textDocument/rename",
                 {{"textDocument", {{"uri", kUri}}}, {"position", {{"line", 1}, {"character", 6}}}, {"newName", "c"}});
  ASSERT_TRUE(answer.contains("error")) << answer.dump();
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), ::testing::HasSubstr("cannot be read"));
}

TEST(Formatting, ChangesOnlyTheLinesThatDiffer) {
  Editor editor;
  const std::string text = "rlflow 1\nparam a : int = 1\nreward   x = builtin(\"exact_answer\")\n# end\n";
  editor.open(text);
  json edits = editor.ask("textDocument/formatting", {{"textDocument", {{"uri", kUri}}}})["result"];
  ASSERT_EQ(edits.size(), 1u);
  EXPECT_EQ(edits[0]["range"]["start"], json({{"line", 2}, {"character", 0}}));
  EXPECT_EQ(applied(text, edits), "rlflow 1\nparam a : int = 1\nreward x = builtin(\"exact_answer\")\n# end\n");
}

TEST(Formatting, ABrokenTextIsNotTouched) {
  Editor editor;
  editor.open("rlflow 1\nparam a : int = \n");
  EXPECT_EQ(editor.ask("textDocument/formatting", {{"textDocument", {{"uri", kUri}}}})["result"], nullptr);
}

TEST(InlayHints, GiveTypesAndSizes) {
  Editor editor;
  editor.open(kProgram);
  json hints = editor.ask("textDocument/inlayHint", {{"textDocument", {{"uri", kUri}}}, {"range", range(9, 0, 0)}});
  EXPECT_TRUE(hints["result"].empty());
  hints =
      editor.ask("textDocument/inlayHint",
                 {{"textDocument", {{"uri", kUri}}},
                  {"range", {{"start", {{"line", 9}, {"character", 0}}}, {"end", {{"line", 12}, {"character", 9}}}}}});
  std::vector<std::string> labels;
  for (const json& hint : hints["result"]) labels.push_back(hint["label"]);
  EXPECT_THAT(labels, ::testing::ElementsAre(" P=32", " : traj[B=256, T]", " : reward[B=256]", " : adv[B=256]"));
}

}  // namespace
}  // namespace rlflow::testing
