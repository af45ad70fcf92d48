// What the compiler's tests share: programs from text, a project root with a model in it, a seeded random source.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "nodes/signatures/catalog.h"

namespace rlflow::testing {

namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline fs::path test_folder() { return fs::path(RLFLOW_SOURCE_DIR) / "tests/compiler"; }

// A project whose only files are those of models/tiny, all empty: the compiler asks only whether they are there.
inline std::string project_root(const std::string& name) {
  fs::path root = fs::path(RLFLOW_BINARY_DIR) / "compiler_tests" / name;
  fs::create_directories(root / "models/tiny");
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"})
    std::ofstream(root / "models/tiny" / file);
  return root.string();
}

// A request for a program that exists only as text.
inline CompileRequest request_for(const std::string& text, const std::string& root) {
  CompileRequest request;
  request.path = "program.rlflow";
  request.texts = {{"program.rlflow", text}};
  request.only_texts = true;
  request.root = root;
  return request;
}

// The programs in pipelines/, libraries included.
inline std::vector<fs::path> all_programs() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(RLFLOW_SOURCE_DIR) / "pipelines")) {
    if (entry.path().extension() == ".rlflow") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::vector<std::string> codes_of(const Analysis& analysis) {
  std::vector<std::string> codes;
  for (const Diagnostic& diagnostic : analysis.diagnostics) codes.push_back(diagnostic.code);
  return codes;
}

}  // namespace rlflow::testing
