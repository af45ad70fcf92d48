// How is a record of tests/compiler/mistakes read and tried?
#include "tests/compiler/mistakes.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>

namespace rlflow::testing {
namespace {

constexpr const char* kProgram = "tiny_grpo.rlflow";

std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    char c = text[++i];
    if (c == 'x') {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
    }
  }
  return result;
}

// The text behind `word` and a space; nullopt where the line begins otherwise.
std::optional<std::string> rest_of(const std::string& line, const std::string& word) {
  if (!line.starts_with(word + " ")) return std::nullopt;
  return unescaped(line.substr(word.size() + 1));
}

class Reader {
 public:
  explicit Reader(Mistake& mistake) : mistake_(mistake) {
    const std::string root = project_root("mistakes");
    mistake_.request = request_for("", root);
    mistake_.request.only_texts = false;
    mistake_.request.path = root + "/" + kProgram;
    text_ = read_file(fs::path(RLFLOW_SOURCE_DIR) / "pipelines" / kProgram);
  }

  void run() {
    for (const std::string& line : mistake_.head) read(line);
    if (on_disk_) return;
    mistake_.request.texts = {{mistake_.request.path, text_}};
  }

 private:
  void read(const std::string& line) {
    if (auto found = rest_of(line, "replace")) {
      find_ = *found;
      once_ = true;
    } else if (auto every = rest_of(line, "everywhere")) {
      find_ = *every;
      once_ = false;
    } else if (line == "with" || rest_of(line, "with")) {
      replace(line == "with" ? "" : *rest_of(line, "with"));
    } else if (line == "program" || rest_of(line, "program")) {
      text_ = line == "program" ? "" : *rest_of(line, "program");
    } else if (auto more = rest_of(line, "append")) {
      std::size_t space = more->find(' ');
      for (int n = std::stoi(more->substr(0, space)); n > 0; --n) text_ += more->substr(space + 1);
    } else if (auto path = rest_of(line, "file")) {
      on_disk_ = true;
      mistake_.request.path = *path;
    } else if (auto change = rest_of(line, "set")) {
      mistake_.request.overrides.push_back(*change);
    } else if (auto machine = rest_of(line, "run on")) {
      mistake_.request.mode = CompileMode::run;
      mistake_.has_cluster = true;
      mistake_.cluster.gpus.resize(std::stoul(*machine));
    } else {
      ADD_FAILURE() << mistake_.name << ": cannot read `" << line << "`";
    }
  }

  void replace(const std::string& with) {
    std::size_t count = 0;
    for (std::size_t at = text_.find(find_); at != std::string::npos; at = text_.find(find_, at + with.size())) {
      text_.replace(at, find_.size(), with);
      ++count;
    }
    EXPECT_TRUE(once_ ? count == 1 : count > 0) << mistake_.name << ": `" << find_ << "` stands " << count << " times";
  }

  Mistake& mistake_;
  std::string text_;
  std::string find_;
  bool once_ = true;
  bool on_disk_ = false;
};

}  // namespace

std::vector<fs::path> mistake_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(test_folder() / "mistakes")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Mistake> read_mistakes(const fs::path& file) {
  std::vector<Mistake> mistakes;
  std::istringstream lines(read_file(file));
  bool in_head = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      mistakes.emplace_back().name = line.substr(3);
      in_head = true;
    } else if (line.empty()) {
      in_head = false;
    } else if (in_head) {
      mistakes.back().head.push_back(line);
    }
  }
  for (Mistake& mistake : mistakes) Reader(mistake).run();
  return mistakes;
}

Analysis analyze_mistake(const Mistake& mistake, const Catalog& catalog) {
  CompileRequest request = mistake.request;
  if (mistake.has_cluster) request.cluster = &mistake.cluster;
  return analyze(request, catalog);
}

std::string messages_of(const Analysis& analysis) {
  std::string text;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    text += (text.empty() ? "" : "\n") + render(diagnostic, analysis.sources);
  }
  const std::string root = analysis.pipeline.root + "/";
  for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at)) text.erase(at, root.size());
  return text.empty() ? "(nothing)\n" : text;
}

}  // namespace rlflow::testing
