// Do the texts of the corpus, what fuzzing once broke and every program and case keep their properties?
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"
#include "tests/fuzz/properties.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(RLFLOW_SOURCE_DIR) / folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Replay : public ::testing::TestWithParam<const char*> {};

TEST_P(Replay, KeepsTheProperties) {
  const Catalog known = catalog();
  std::vector<fs::path> files = files_below(GetParam());
  EXPECT_FALSE(files.empty());
  for (const fs::path& path : files) EXPECT_EQ(broken_property(read_file(path), known), "") << path;
}

INSTANTIATE_TEST_SUITE_P(Each, Replay,
                         ::testing::Values("pipelines", "tests/compiler/cases", "tests/fuzz/corpus",
                                           "tests/fuzz/found"));

#if !defined(__SANITIZE_ADDRESS__)
double cpu_milliseconds_of_compiling(const std::string& text, const Catalog& known) {
  CompileRequest request;
  request.path = "program.rlflow";
  request.texts = {{request.path, text}};
  request.only_texts = true;
  const std::clock_t before = std::clock();
  compile(request, known);
  return 1000.0 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
}

// 25 ms of CPU for at most 4 KiB; a text that seems slow gets four more tries, since a machine may be busy.
TEST(Replay, NoSmallTextTakesLong) {
  const Catalog known = catalog();
  for (const char* folder : {"pipelines", "tests/compiler/cases", "tests/fuzz/corpus", "tests/fuzz/found"}) {
    for (const fs::path& path : files_below(folder)) {
      const std::string text = read_file(path);
      if (text.size() > 4096) continue;
      double least = cpu_milliseconds_of_compiling(text, known);
      for (int again = 0; again < 4 && least > 25; ++again)
        least = std::min(least, cpu_milliseconds_of_compiling(text, known));
      EXPECT_LE(least, 25) << path;
    }
  }
}
#endif

// The test of the test: a place outside its file would be found. `dump` and `compile` are trusted by other tests.
TEST(Replay, BytesThatAreNoTextAreSurvived) {
  const Catalog known = catalog();
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(broken_property(bytes, known), "");
  EXPECT_EQ(broken_property(std::string(10000, '('), known), "");
  EXPECT_EQ(broken_property("rlflow 1\nparam a : int = " + std::string(10000, '['), known), "");
}

}  // namespace
}  // namespace rlflow::testing
