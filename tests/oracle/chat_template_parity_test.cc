// Does a conversation become the ids of transformers' apply_chat_template? Needs RLFLOW_ORACLE_PYTHON, a Python with
// transformers and trl; skipped where it is not set. RLFLOW_ORACLE_TOKENIZERS names further folders, joined by `:`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "nodes/format/chat_template.h"
#include "nodes/format/json.h"
#include "nodes/format/tokenizer.h"
#include "tests/oracle/oracle_script.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const std::vector<TextPart>& parts) {
  std::string text;
  for (const TextPart& part : parts) text += part.text;
  return text;
}

void compare_folder(const fs::path& folder, int count) {
  SCOPED_TRACE(folder.filename().string());
  const Tokenizer tokenizer = read_tokenizer(folder);
  const ChatTemplate chat = read_chat_template(folder);
  if (std::ifstream name(folder / "name"); name) {
    std::string wanted;
    name >> wanted;
    EXPECT_EQ(chat.name, wanted);
  }
  std::ifstream cases(folder / "cases.jsonl");
  int compared = 0, failures = 0;
  for (std::string line; std::getline(cases, line); ++compared) {
    const Json wanted = Json::parse(line);
    std::vector<ChatMessage> messages;
    for (const Json& message : wanted["messages"]) messages.push_back({message["role"], message["content"]});
    const auto parts = rendered(chat, messages, tokenizer.bos() < 0 ? "" : tokenizer.token(tokenizer.bos()));
    const bool same_text = text_of(parts) == wanted["text"];
    const bool same_ids = tokenizer.encode(parts) == wanted["ids"].get<std::vector<std::int32_t>>();
    if ((same_text && same_ids) || ++failures > 3) continue;
    ADD_FAILURE() << (same_text ? "ids" : "text") << " of " << line << "\nhere " << Json(text_of(parts)).dump();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(compared, count);
}

TEST(ChatTemplateParity, EveryKnownTemplate) {
  if (!std::getenv("RLFLOW_ORACLE_PYTHON")) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const fs::path out = fs::path(RLFLOW_BINARY_DIR) / "oracle/chat_templates";
  const int count = testing::long_size() ? 2'000 : 200;
  ASSERT_NO_FATAL_FAILURE(testing::write_tokenizer_cases("chat_template_parity.py", out, count));
  int folders = 0;
  for (const auto& folder : fs::directory_iterator(out)) {
    compare_folder(folder.path(), count);
    ++folders;
  }
  EXPECT_GE(folders, 10);
}

}  // namespace
}  // namespace rlflow
