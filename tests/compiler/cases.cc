// Reads golden cases.
#include "tests/compiler/cases.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace rlflow::testing {
namespace {

std::string name_of(const fs::path& path) { return path.lexically_relative(test_folder() / "cases").string(); }

void read_directive(const std::string& line, int number, const std::string& file, Case& result) {
  static const std::regex kExpectation(R"(#! (error|warning)\[(\w+)\] (@([+-]\d+)|@cmd|\S+:\d+): (.*))");
  static const std::regex kStage(R"(#! (mode|gpus|override|overrides): (.*))");
  std::smatch match;
  if (std::regex_match(line, match, kStage)) {
    if (match[1] == "mode") result.request.mode = match[2] == "run" ? CompileMode::run : CompileMode::check;
    if (match[1] == "overrides") result.request.override_files.push_back(match[2]);
    if (match[1] == "override") result.request.overrides.push_back(match[2]);
    if (match[1] == "gpus") {
      result.has_cluster = true;
      result.cluster.gpus.resize(std::stoul(match[2]));
    }
  } else if (std::regex_match(line, match, kExpectation)) {
    std::string place = match[3];
    if (match[4].matched) place = file + ":" + std::to_string(number + std::stoi(match[4]));
    if (place == "@cmd") place = kCommandLinePath;
    result.expected.push_back({place, match[1].str() + "[" + match[2].str() + "]", match[5]});
  } else {
    ADD_FAILURE() << file << ":" << number << ": not an expectation: " << line;
  }
}

}  // namespace

Case read_case(const fs::path& path) {
  Case result;
  result.request = request_for("", project_root("cases"));
  result.request.path = name_of(path);
  result.request.texts.clear();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(test_folder() / "cases")) {
    if (entry.is_regular_file()) result.request.texts[name_of(entry.path())] = read_file(entry.path());
  }
  std::istringstream lines(result.request.texts[name_of(path)]);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with("#!")) read_directive(line, number, name_of(path), result);
  }
  return result;
}

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(test_folder() / "cases")) {
    if (entry.path().extension() == ".rlflow") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string place_of(const Diagnostic& diagnostic, const SourceMap& sources) {
  if (!diagnostic.primary.valid()) return "nowhere";
  if (sources.is_command_line(diagnostic.primary.file)) return kCommandLinePath;
  Position at = sources.position(diagnostic.primary.file, diagnostic.primary.begin);
  return sources.file(diagnostic.primary.file).path + ":" + std::to_string(at.line);
}

}  // namespace rlflow::testing
