// Is every failure code explained, and every explained one in use?
#include "runtime/contract/failure_codes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace rlflow {
namespace {

namespace fs = std::filesystem;

std::set<std::string> codes_in_sources() {
  std::set<std::string> codes;
  const std::regex code("\"(R[0-9]{4})\"");
  for (const char* folder : {"runtime/engine", "runtime/store", "nodes", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(RLFLOW_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        line = line.substr(0, line.find("//"));
        for (std::sregex_iterator it(line.begin(), line.end(), code), end; it != end; ++it) codes.insert((*it)[1]);
      }
    }
  }
  return codes;
}

TEST(FailureCodes, ExplainedAndUsedAreTheSame) {
  std::set<std::string> explained;
  for (const FailureInfo& failure : failure_codes()) explained.emplace(failure.code);
  EXPECT_EQ(explained, codes_in_sources());
}

TEST(FailureCodes, AreSortedAndFindable) {
  std::string previous;
  for (const FailureInfo& failure : failure_codes()) {
    EXPECT_LT(previous, failure.code);
    previous = failure.code;
    EXPECT_EQ(find_failure(failure.code), &failure);
  }
  EXPECT_EQ(find_failure("R9999"), nullptr);
}

}  // namespace
}  // namespace rlflow
