// Does the tokenizer give the ids and texts of the `tokenizers` package? Needs RLFLOW_ORACLE_PYTHON, a Python with that
// package; skipped where it is not set. RLFLOW_ORACLE_TOKENIZERS names further folders, joined by `:`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "nodes/format/json.h"
#include "nodes/format/tokenizer.h"
#include "nodes/format/unicode_text.h"
#include "tests/oracle/oracle_script.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

constexpr int kMaxFailures = 5;  // shown of a family

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Ids encode_control(const Tokenizer& tokenizer, const std::string& text) {
  const TextPart part{text, true};
  return tokenizer.encode(std::span(&part, 1));
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
  DecodeStream stream = tokenizer.decode_stream();
  std::string text;
  for (const std::int32_t id : ids) text += stream.push(id);
  return text + stream.finish();
}

struct Tally {
  int strings = 0, failures = 0, refused = 0;

  void expect(bool equal, const std::string& what, const Json& line, const Json& got) {
    if (equal || ++failures > kMaxFailures) return;
    ADD_FAILURE() << what << "\n  of   " << line.dump() << "\n  here " << got.dump();
  }
};

void compare(const Tokenizer& tokenizer, const Json& line, Tally& tally) {
  const Ids ids = line["ids"].get<Ids>();
  const std::string decoded = tokenizer.decode(ids);
  tally.expect(decoded == line["decoded"], "text", line, decoded);
  tally.expect(streamed(tokenizer, ids) == decoded, "streamed text", line, decoded);
  if (!line.contains("hex")) return;
  ++tally.strings;
  const std::string text = bytes_of_hex(line["hex"].get<std::string>());
  try {
    tokenizer.encode(text);
  } catch (const EncodeError&) {
    // Some vocabularies lack bytes (SmolLM2's has 21 less): the package drops them without a word.
    ++tally.refused;
    std::string whole;
    append_valid_utf8(whole, text, true);
    tally.expect(decoded != whole, "a refusal of what is not lost", line, nullptr);
    return;
  }
  const Ids control = encode_control(tokenizer, text), plain = tokenizer.encode(text);
  tally.expect(control == ids, "ids with special tokens", line, control);
  tally.expect(plain == line["plain"].get<Ids>(), "ids without", line, plain);
}

int compare_folder(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.filename().string());
  const Tokenizer tokenizer = read_tokenizer(folder);
  std::ifstream cases(folder / "cases.jsonl");
  Tally tally;
  for (std::string line; std::getline(cases, line);) compare(tokenizer, Json::parse(line), tally);
  EXPECT_EQ(tally.failures, 0) << "of " << tally.strings << " strings";
  EXPECT_LT(tally.refused, tally.strings / 10);
  return tally.strings;
}

TEST(TokenizerParity, IdsAndTextsOfEveryFamily) {
  if (!std::getenv("RLFLOW_ORACLE_PYTHON")) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const std::filesystem::path out = std::filesystem::path(RLFLOW_BINARY_DIR) / "oracle/tokenizers";
  const int count = testing::long_size() ? 50'000 : 10'000;
  ASSERT_NO_FATAL_FAILURE(testing::write_tokenizer_cases("tokenizer_parity.py", out, count));
  int folders = 0;
  for (const auto& folder : std::filesystem::directory_iterator(out)) {
    EXPECT_EQ(compare_folder(folder.path()), count);
    ++folders;
  }
  EXPECT_GE(folders, 10);
}

}  // namespace
}  // namespace rlflow
