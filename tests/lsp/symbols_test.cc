// Is the outline that of the file?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lsp/editor.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

std::vector<std::string> names(const json& symbols) {
  std::vector<std::string> list;
  for (const json& symbol : symbols) list.push_back(symbol["name"]);
  return list;
}

json outline(const std::string& text) {
  Editor editor;
  editor.open(text);
  return editor.ask("textDocument/documentSymbol", {{"textDocument", {{"uri", kUri}}}})["result"];
}

TEST(DocumentSymbols, AreDeclarationsWithTheFlowsStatementsBelow) {
  const json list = outline(kProgram);
  EXPECT_THAT(names(list), ElementsAre("steps", "here", "policy", "ref", "sampler", "train", "exact", "grpo"));
  const json& flow = list[7];
  EXPECT_THAT(names(flow["children"]), ElementsAre("batch", "traj", "r", "adv", "refl", "step",
                                                   "sync policy -> sampler", "every", "stop after"));
  EXPECT_EQ(flow["children"][1]["detail"], "traj[B=256, T] = rollout");
  EXPECT_THAT(names(flow["children"][7]["children"]), ElementsAre("checkpoint"));
  EXPECT_EQ(flow["selectionRange"]["start"], json({{"line", 8}, {"character", 5}}));
  EXPECT_EQ(flow["range"]["start"], json({{"line", 8}, {"character", 0}}));
  EXPECT_EQ(flow["range"]["end"], json({{"line", 18}, {"character", 1}}));
}

TEST(DocumentSymbols, ABrokenLineKeepsItsName) {
  EXPECT_THAT(names(outline("rlflow 1\nparam a : int = \nparam b : int = 1\n")), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace rlflow::testing
