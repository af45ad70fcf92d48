// A Python script of this folder that fills a folder with cases of the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "tests/support/test_size.h"

namespace rlflow::testing {

// Runs `script OUT COUNT [FOLDER…]` with the oracle's Python. RLFLOW_ORACLE_TOKENIZERS names further model folders,
// joined by ":"; in long tests models/smollm2 is one. A fatal failure where the script fails.
inline void write_tokenizer_cases(const std::string& script, const std::filesystem::path& out, int count) {
  std::string command = std::string(std::getenv("RLFLOW_ORACLE_PYTHON")) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/" +
                        script + " " + out.string() + " " + std::to_string(count);
  if (const char* more = std::getenv("RLFLOW_ORACLE_TOKENIZERS")) {
    std::istringstream folders(more);
    for (std::string folder; std::getline(folders, folder, ':');) command += " " + folder;
  }
  if (long_size()) command += std::string(" ") + RLFLOW_SOURCE_DIR + "/models/smollm2";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace rlflow::testing
