// How is a golden case read, and when does a message meet an expectation?
#include "tests/compiler/cases.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace rlflow::testing {
namespace {

std::string name_of(const fs::path& path) { return path.lexically_relative(test_folder() / "cases").string(); }

// "@+1:34" in line 7 of x.rlflow -> "x.rlflow:8:34"
std::string resolved(const std::string& place, int number, const std::string& file) {
  if (place == "@cmd") return kCommandLinePath;
  if (place[0] != '@') return place;
  std::size_t colon = place.find(':');
  std::string line = std::to_string(number + std::stoi(place.substr(1, colon - 1)));
  return file + ":" + line + (colon == std::string::npos ? "" : place.substr(colon));
}

void read_directive(const std::string& line, int number, const std::string& file, Case& result) {
  static const std::regex kExpectation(R"(#! ((?:error|warning)\[\w+\]) (@cmd|@[+-]\d+(?::\d+)?|\S+:\d+): (.*))");
  static const std::regex kLabel(R"(#! label (@cmd|@[+-]\d+:\d+|\S+:\d+:\d+): (.*))");
  static const std::regex kAdvice(R"(#! ((?:note|help|fix safe|fix likely|fix guess): .*))");
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
    result.expected.push_back({resolved(match[2], number, file), match[1], match[3], {}});
  } else if (std::regex_match(line, match, kLabel) && !result.expected.empty()) {
    result.expected.back().details.push_back("label " + resolved(match[1], number, file) + ": " + match[2].str());
  } else if (std::regex_match(line, match, kAdvice) && !result.expected.empty()) {
    result.expected.back().details.push_back(match[1]);
  } else {
    ADD_FAILURE() << file << ":" << number << ": not an expectation: " << line;
  }
}

const char* name_of(Applicability applicability) {
  switch (applicability) {
    case Applicability::safe: return "safe";
    case Applicability::likely: return "likely";
    case Applicability::guess: return "guess";
  }
  return "";
}

}  // namespace

Case read_case(const fs::path& path) {
  Case result;
  const std::string root = project_root("cases");
  fs::create_directories(fs::path(root) / "models/other");  // a model of another family
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"})
    std::ofstream(fs::path(root) / "models/other" / file) << "{}";
  fs::create_directories(fs::path(root) / "models/shaped");  // one whose sizes are known
  fs::copy_file(fs::path(RLFLOW_SOURCE_DIR) / "models/tiny/config.json", fs::path(root) / "models/shaped/config.json",
                fs::copy_options::overwrite_existing);
  for (const char* file : {"tokenizer.json", "model.safetensors"})
    std::ofstream(fs::path(root) / "models/shaped" / file) << "{}";
  result.request = request_for("", root);
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

Analysis analyze_case(const Case& test, const Catalog& catalog) {
  CompileRequest request = test.request;
  if (test.has_cluster) request.cluster = &test.cluster;
  return analyze(request, catalog);
}

std::string place_of(Span span, const SourceMap& sources) {
  if (!span.valid()) return "nowhere";
  if (sources.is_command_line(span.file)) return kCommandLinePath;
  Position at = sources.position(span.file, span.begin);
  return sources.file(span.file).path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::vector<std::string> details_of(const Diagnostic& diagnostic, const SourceMap& sources) {
  std::vector<std::string> details;
  if (!diagnostic.primary_label.empty())
    details.push_back("label " + place_of(diagnostic.primary, sources) + ": " + diagnostic.primary_label);
  for (const Label& label : diagnostic.labels)
    details.push_back("label " + place_of(label.span, sources) + ": " + label.text);
  for (const std::string& note : diagnostic.notes) details.push_back("note: " + note);
  for (const Fix& fix : diagnostic.fixes) {
    details.push_back((fix.edits.empty() ? "help" : std::string("fix ") + name_of(fix.applicability)) + ": " +
                      fix.title);
  }
  return details;
}

bool meets(const Diagnostic& diagnostic, const SourceMap& sources, const Expectation& expectation) {
  const char* level = diagnostic.level == Level::error ? "error" : "warning";
  if (level + ("[" + diagnostic.code + "]") != expectation.level_and_code) return false;
  std::string place = place_of(diagnostic.primary, sources);
  if (place == expectation.place && place != kCommandLinePath) return diagnostic.message == expectation.text;
  bool here = place == expectation.place || place.substr(0, place.rfind(':')) == expectation.place;
  return here && diagnostic.message.find(expectation.text) != std::string::npos;
}

}  // namespace rlflow::testing
