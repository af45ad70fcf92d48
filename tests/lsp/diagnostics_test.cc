// Does the editor see every message of the import tree, where it is, and how to mend it?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lsp/editor.h"
#include "tests/support/process.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json range(int line, int from, int to) {
  return {{"start", {{"line", line}, {"character", from}}}, {"end", {{"line", line}, {"character", to}}}};
}

// The model folder does not exist: a warning for each model, and nothing else.
TEST(EditorDiagnostics, ARightProgramHasOnlyTheMissingFolder) {
  Editor editor;
  editor.open(kProgram);
  for (const json& diagnostic : editor.diagnostics()) EXPECT_EQ(diagnostic["severity"], 2) << diagnostic.dump(1);
}

TEST(EditorDiagnostics, AMistakeStandsAtItsPlaceWithItsLabels) {
  Editor editor;
  editor.open(changed("advantage(r)", "advantage(refl2)"));
  EXPECT_THAT(editor.codes(), ::testing::Contains("E0201"));

  editor.open(changed("advantage(r)", "advantage(batch)"));
  json found;
  for (const json& diagnostic : editor.diagnostics()) {
    if (diagnostic["code"] == "E0301") found = diagnostic;
  }
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found["range"], range(12, 18, 23));
  EXPECT_EQ(found["severity"], 1);
  EXPECT_EQ(found["source"], "rlflow");
  ASSERT_FALSE(found["relatedInformation"].empty());
  EXPECT_EQ(found["relatedInformation"][0]["location"]["uri"], kUri);
  EXPECT_EQ(found["relatedInformation"][0]["location"]["range"]["start"]["line"], 9);
}

TEST(EditorDiagnostics, FollowIncrementalEdits) {
  Editor editor;
  editor.open(kProgram);
  const std::vector<std::string> right = editor.codes();
  editor.edit({{{"range", range(12, 8, 17)}, {"text", "advantag"}}});
  EXPECT_NE(editor.codes(), right);
  editor.edit({{{"range", range(12, 8, 16)}, {"text", "adv"}}, {{"range", range(12, 11, 11)}, {"text", "antage"}}});
  EXPECT_EQ(editor.codes(), right);
}

// An emoji in a comment before the mistake moves its column by two.
TEST(EditorDiagnostics, ColumnsAreUtf16) {
  Editor editor;
  editor.open("rlflow 1\nparam a : int = 1 \"\xF0\x9F\x98\x80\" x\n");
  ASSERT_FALSE(editor.diagnostics().empty());
  EXPECT_EQ(editor.diagnostics()[0]["range"]["start"], json({{"line", 1}, {"character", 23}}));
}

TEST(EditorDiagnostics, ImportsAreReadFromBuffersAndReportedAtTheirFile) {
  Editor editor;
  const std::string library = "file:///nowhere/lib%20a.rlflow";
  editor.open("rlflow 1\nparam n : int = x\n", library);
  editor.open("rlflow 1\nimport \"lib a.rlflow\" as l\nparam k : int = l.n\n");
  EXPECT_THAT(editor.codes(library), ElementsAre("E0201"));
  EXPECT_THAT(editor.codes(kUri), ::testing::Not(::testing::Contains("E0207")));

  editor.tell("textDocument/didChange", {{"textDocument", {{"uri", library}, {"version", 2}}},
                                         {"contentChanges", {{{"text", "rlflow 1\nparam m : int = 1\n"}}}}});
  EXPECT_THAT(editor.codes(library), ::testing::Not(::testing::Contains("E0201")));
  EXPECT_THAT(editor.codes(kUri), ::testing::Contains("E0201"));  // there is no l.n any more
}

// A library that is open nowhere: its mistakes show at its own file, and go when it is mended there.
TEST(EditorDiagnostics, OfAFileOnTheDiskFollowItsChanges) {
  ScratchFolder folder("lsp_import");
  const std::string library = "file://" + folder.path() + "/lib.rlflow";
  write_file(folder.path() + "/lib.rlflow", "rlflow 1\nparam n : int = x\n");
  Editor editor;
  editor.open("rlflow 1\nimport \"lib.rlflow\" as l\nparam k : int = l.n\n", "file://" + folder.path() + "/p.rlflow");
  EXPECT_THAT(editor.codes(library), ElementsAre("E0201"));
  write_file(folder.path() + "/lib.rlflow", "rlflow 1\nparam n : int = 1\n");
  editor.tell("workspace/didChangeWatchedFiles", {{"changes", {{{"uri", library}, {"type", 2}}}}});
  EXPECT_THAT(editor.codes(library), IsEmpty());
}

// A buffer that was never saved.
TEST(EditorDiagnostics, OfABufferWithoutAFile) {
  Editor editor;
  editor.open("rlflow 1\nparam n : int = x\n", "untitled:Untitled-1");
  EXPECT_THAT(editor.codes("untitled:Untitled-1"), ElementsAre("E0201"));
}

TEST(EditorDiagnostics, AClosedProgramShowsNothing) {
  Editor editor;
  editor.open("rlflow 1\nparam n : int = x\n");
  EXPECT_THAT(editor.codes(), ElementsAre("E0201"));
  editor.tell("textDocument/didClose", {{"textDocument", {{"uri", kUri}}}});
  EXPECT_THAT(editor.codes(), IsEmpty());
}

TEST(EditorDiagnostics, AFixIsACodeAction) {
  Editor editor;
  editor.open(changed("advantage(r) { estimator", "advantage(r) { estimatr"));
  json actions =
      editor.ask("textDocument/codeAction",
                 {{"textDocument", {{"uri", kUri}}}, {"range", range(12, 23, 23)}, {"context", json::object()}});
  ASSERT_EQ(actions["result"].size(), 1u) << actions.dump(1);
  const json& action = actions["result"][0];
  EXPECT_THAT(action["title"].get<std::string>(), HasSubstr("`estimator`"));
  EXPECT_EQ(action["kind"], "quickfix");
  EXPECT_EQ(action["edit"]["changes"][kUri], json::array({{{"range", range(12, 23, 31)}, {"newText", "estimator"}}}));

  json elsewhere =
      editor.ask("textDocument/codeAction",
                 {{"textDocument", {{"uri", kUri}}}, {"range", range(2, 0, 0)}, {"context", json::object()}});
  EXPECT_TRUE(elsewhere["result"].empty());
}

}  // namespace
}  // namespace rlflow::testing
