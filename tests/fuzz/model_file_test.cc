// Do true model files, cut and changed in many ways, keep their properties?
#include "tests/fuzz/model_file_properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "nodes/format/model_config.h"
#include "nodes/format/safetensors.h"
#include "runtime/contract/philox.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(RLFLOW_SOURCE_DIR) / "tests/fuzz/models")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

void expect_kept(const std::string& bytes) {
  ASSERT_EQ(broken_config_property(bytes), "") << bytes;
  ASSERT_EQ(broken_safetensors_property(bytes), "");
}

// Numbers and words that stand for sizes, kinds and offsets: where a reader could be led astray.
const std::vector<std::string> kWords = {
    "0",    "-1",    "1e308", "18446744073709551615", "null",       "true", "[]",
    "{}",   "\"x\"", "0.5",   "4294967296",           "2",          "\"\"", "[1,2]",
    "1e-9", "1",     "[0,8]", "\"linear\"",           "\"\\u0000\""};

// Replaces what stands between a colon and the next comma or brace.
std::string with_other_value(const std::string& text, PhiloxStream& stream) {
  std::vector<std::size_t> colons;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) colons.push_back(at);
  if (colons.empty()) return text;
  const std::size_t colon = colons[stream.below(colons.size())];
  const std::size_t end = text.find_first_of(",}", colon);
  if (end == std::string::npos) return text;
  return text.substr(0, colon + 1) + kWords[stream.below(kWords.size())] + text.substr(end);
}

// Were the seeds refused, all that is made of them would be too, and nothing be tested.
TEST(ModelFiles, TheSeedsAreRead) {
  std::size_t configs = 0, weights = 0;
  for (const std::string& text : seeds()) {
    if (text.front() == '{') {
      EXPECT_NO_THROW(parse_model_config(text)) << text;
      ++configs;
    } else {
      EXPECT_EQ(SafetensorsFile(std::as_bytes(std::span(text)), "seed").tensors().size(), 2u);
      ++weights;
    }
  }
  EXPECT_EQ(configs, 5u);
  EXPECT_EQ(weights, 1u);
}

TEST(ModelFiles, KeepTheirPropertiesHoweverTheyAreCutAndChanged) {
  const std::vector<std::string> texts = seeds();
  ASSERT_GE(texts.size(), 6u);
  PhiloxStream stream(1);
  for (const std::string& text : texts) {
    expect_kept(text);
    for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 400) expect_kept(text.substr(0, size));
    for (int i = 0; i < 1500; ++i) {
      std::string changed = with_other_value(text, stream);
      if (i % 3 == 0) changed[stream.below(changed.size())] ^= 1 << (i % 8);
      expect_kept(changed);
    }
  }
}

}  // namespace
}  // namespace rlflow::testing
