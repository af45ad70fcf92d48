// Do the tokenizers of the corpus keep their properties?
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nodes/format/tokenizer.h"
#include "tests/fuzz/tokenizer_properties.h"

namespace rlflow::testing {
namespace {

TEST(TokenizerReplay, KeepsTheProperties) {
  int files = 0, accepted = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(RLFLOW_SOURCE_DIR) + "/tests/fuzz/tokenizers")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(broken_tokenizer_property(input), "") << entry.path();
    ++files;
    try {
      Tokenizer(input.substr(0, input.find('\0')), "{}");
      ++accepted;
    } catch (const FormatError&) {
    }
  }
  EXPECT_GE(files, 6);
  EXPECT_GE(accepted, 6);  // a corpus of refused files would prove nothing
}

}  // namespace
}  // namespace rlflow::testing
