// Do lines of JSON become rows, and is every faulty line named?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nodes/batches.h"
#include "nodes/data/jsonl.h"
#include "nodes/format/format_error.h"
#include "nodes/take_node.h"

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class JsonlTest : public ::testing::Test {
 protected:
  JsonlTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    std::filesystem::create_directory_symlink(std::string(RLFLOW_SOURCE_DIR) + "/models", root_ / "models");
    data_.name = "chat";
    data_.source = "jsonl";
    data_.argument = "rows.jsonl";
    data_.settings = {{"seed", std::int64_t{0}}, {"shuffle", false}, {"prompt", std::string("prompt")}};
  }
  ~JsonlTest() override { std::filesystem::remove_all(root_); }
  std::unique_ptr<Dataset> open(const std::string& text) {
    std::ofstream(root_ / "rows.jsonl", std::ios::binary) << text;
    return open_dataset(data_, root_);
  }
  std::string refusal(const std::string& text) {
    try {
      open(text);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path root_ = std::filesystem::path(::testing::TempDir()) / "rlflow_jsonl";
  PlanData data_;
};

TEST_F(JsonlTest, RowsAreTheLinesThatAreNotBlank) {
  data_.settings["answer"] = std::string("answer");
  const auto rows =
      open("{\"prompt\": \"a\\u00e4\", \"answer\": 933, \"more\": [1]}\r\n\n  \n{\"prompt\":\"\",\"answer\":\"x\"}");
  ASSERT_EQ(rows->size(), 2);
  EXPECT_EQ(rows->row(0).prompt, "aä");
  EXPECT_EQ(rows->row(0).answer, "933");  // a number is its digits
  EXPECT_EQ(rows->row(1).prompt, "");
  EXPECT_EQ(rows->row(1).answer, "x");
}

TEST_F(JsonlTest, EachFaultIsNamedByItsLine) {
  const std::string good = "{\"prompt\": \"1\"}\n";
  EXPECT_EQ(refusal(good), "");
  EXPECT_THAT(refusal(good + "\n{\"prompt\": \"1\"\n"), HasSubstr("rows.jsonl:3"));
  EXPECT_THAT(refusal(good + "[]"), HasSubstr("rows.jsonl:2: is not an object"));
  EXPECT_THAT(refusal(good + "{\"promt\": \"1\"}"), HasSubstr("rows.jsonl:2: has no field \"prompt\""));
  EXPECT_THAT(refusal("{\"prompt\": true}"),
              HasSubstr("rows.jsonl:1: field \"prompt\" is neither a text nor a number"));
  EXPECT_THAT(refusal("{\"prompt\": [\"1\"]}"),
              HasSubstr("rows.jsonl:1: field \"prompt\": message 0 is not {role, content}"));
  EXPECT_THAT(refusal("{\"prompt\": []}"), HasSubstr("field \"prompt\": has no message"));
  EXPECT_THAT(refusal(R"({"prompt": [{"role": "user", "content": "1", "name": "x"}]})"),
              HasSubstr("message 0 has the key \"name\", which is not supported"));
  EXPECT_THAT(refusal(good + "{\"prompt\": \"\xff\"}"), HasSubstr("rows.jsonl:2"));
  EXPECT_THAT(refusal("\n \n"), HasSubstr("rows.jsonl: has no rows"));
  EXPECT_THAT(refusal(""), HasSubstr("rows.jsonl"));
}

TEST_F(JsonlTest, SizeTakesTheFirstRowsAndNoMoreThanThereAre) {
  data_.settings["size"] = std::int64_t{1};
  EXPECT_EQ(open("{\"prompt\": \"1\"}\n{\"prompt\": \"2\"}\n")->size(), 1);
  data_.settings["size"] = std::int64_t{3};
  EXPECT_THAT(refusal("{\"prompt\": \"1\"}\n{\"prompt\": \"2\"}\n"), HasSubstr("has 2 rows, `size` asks for 3"));
}

TEST_F(JsonlTest, AConversationIsAPrompt) {
  data_.settings["response"] = std::string("reply");
  const auto rows = open(R"({"prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],)"
                         R"( "reply": [{"role": "assistant", "content": "a"}]})");
  const DataRow row = rows->row(0);
  ASSERT_EQ(row.messages.size(), 2u);
  EXPECT_EQ(row.messages[0].role, "system");
  EXPECT_EQ(row.prompt, "q");
  EXPECT_EQ(row.response, "a");
}

TEST_F(JsonlTest, APrefillHoldsFieldsOfItsRow) {
  data_.settings["prefill"] = std::string("{{{a} + {b} = ");
  EXPECT_EQ(open(R"({"prompt": "?", "a": 3, "b": "four"})")->row(0).prefill, "{3 + four = ");
  EXPECT_THAT(refusal(R"({"prompt": "?", "a": 3})"), HasSubstr("`prefill`: rows.jsonl:1: has no field \"b\""));
  data_.settings["prefill"] = std::string("}");
  EXPECT_THAT(refusal(R"({"prompt": "?"})"), HasSubstr("has a lone `}`"));
}

TEST_F(JsonlTest, LinesThatCannotBeReadAreSkippedWhereAskedAndSaid) {
  data_.settings["malformed"] = Word{"skip"};
  const std::string good = "{\"prompt\": \"1\"}\n";
  const auto rows = open(good + "{\"prompt\": 1\n" + good + "[]\n" + good);
  EXPECT_EQ(rows->size(), 3);
  ASSERT_EQ(rows->warnings().size(), 1u);
  EXPECT_THAT(rows->warnings()[0], HasSubstr("rows.jsonl: 2 of 5 lines are left out"));
  EXPECT_THAT(rows->warnings()[0], HasSubstr("the first: rows.jsonl:2"));
  EXPECT_THAT(refusal("[]\n[]\n" + good), HasSubstr("more lines cannot be read (2) than can (1)"));
}

Plan pairs_plan(const std::filesystem::path& root, const PlanData& data) {
  Plan plan;
  plan.root = root.string();
  PlanModel model;
  model.path = "models/tiny";
  plan.models.push_back(model);
  plan.data.push_back(data);
  PlanNode node;
  node.name = "batch";
  node.data = DataId(0);
  node.tokenizer = ModelId(0);
  node.constants = {{"count", std::int64_t{2}}};
  plan.nodes.push_back(node);
  return plan;
}

// The tiny vocabulary: pad 0, bos 1, eos 2, digits from 3.
TEST_F(JsonlTest, PairsAreTwoResponsesOfOnePrompt) {
  data_.settings["chosen"] = std::string("chosen");
  data_.settings["rejected"] = std::string("rejected");
  std::ofstream(root_ / "rows.jsonl") << "{\"prompt\":\"0\",\"chosen\":\"12\",\"rejected\":\"3\"}\n"
                                         "{\"prompt\":\"45\",\"chosen\":\"\",\"rejected\":\"678\"}\n";
  const TaskResult result = make_take_pairs_node(pairs_plan(root_, data_), NodeId(0))->run({}, {});
  const auto& pairs = dynamic_cast<const Pairs&>(*result.outputs.at(0));
  EXPECT_EQ(pairs.prompts.tokens, (std::vector<std::int32_t>{1, 3, 1, 7, 8}));
  EXPECT_EQ(pairs.tokens, (std::vector<std::int32_t>{4, 5, 2, 6, 2, 2, 9, 10, 11, 2}));
  EXPECT_EQ(pairs.batch->offsets, (std::vector<std::int64_t>{0, 3, 5, 6, 10}));
  EXPECT_EQ(pairs.batch->group, (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(pairs.source_row, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(JsonlTest, APromptBeyondMaxPromptIsRefusedWithItsRow) {
  data_.settings["chosen"] = data_.settings["rejected"] = std::string("prompt");
  data_.settings["max_prompt"] = Quantity{4, Unit::tokens};
  std::ofstream(root_ / "rows.jsonl") << "{\"prompt\":\"123\"}\n{\"prompt\":\"1234\"}\n";
  const auto node = make_take_pairs_node(pairs_plan(root_, data_), NodeId(0));
  EXPECT_THAT([&] { node->run({}, {}); },
              ThrowsMessage<FormatError>(HasSubstr("data `chat`, row 1: the prompt has 5 tokens, `max_prompt` is 4")));
}

TEST_F(JsonlTest, ATextThatTheTokenizerDoesNotKnowIsNamedByItsRow) {
  data_.settings["chosen"] = data_.settings["rejected"] = std::string("prompt");
  std::ofstream(root_ / "rows.jsonl") << "{\"prompt\":\"1\"}\n{\"prompt\":\"word\"}\n";
  const auto node = make_take_pairs_node(pairs_plan(root_, data_), NodeId(0));
  EXPECT_THAT([&] { node->run({}, {}); }, ThrowsMessage<FormatError>(HasSubstr("data `chat`, row 1")));
}

}  // namespace
}  // namespace rlflow
