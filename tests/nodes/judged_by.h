// A reward program from text, in a project of its own, with the verdicts that it gives.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nodes/reward/exec_reward.h"

namespace rlflow::testing {

inline const std::string kPython = "/usr/bin/python3";  // Debian's; what stands first in PATH may be anything

// A project folder with a folder of runs, removed at the end.
class RewardProject {
 public:
  explicit RewardProject(const std::string& name) {
    root_ = std::filesystem::path(::testing::TempDir()) / ("rlflow-reward-" + name + "-" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "runs" / "one");
    write("runs/one/state.db", "what a run holds");
  }
  ~RewardProject() { std::filesystem::remove_all(root_); }
  RewardProject(const RewardProject&) = delete;
  RewardProject& operator=(const RewardProject&) = delete;

  const std::filesystem::path& root() const { return root_; }
  void write(const std::string& path, const std::string& text) const { std::ofstream(root_ / path) << text; }

  RewardPlace place() const {
    const std::filesystem::path build = RLFLOW_BINARY_DIR;
    return {std::filesystem::canonical(root_), std::filesystem::canonical(root_) / "runs", build / "rlflow-reward-host",
            build / "python"};
  }

  // `reward mine = exec("/usr/bin/python3 reward.py") { … }` with reward.py as given.
  PlanReward python(const std::string& text, const Attributes& settings = {}) const {
    write("reward.py", text);
    return exec(kPython + " reward.py", settings);
  }
  static PlanReward exec(const std::string& command, const Attributes& settings = {}) {
    PlanReward reward;
    reward.name = "mine";
    reward.source = "exec";
    reward.argument = command;
    reward.settings = {
        {"batch", std::int64_t{1}}, {"network", false}, {"memory", Quantity{std::int64_t{512} << 20, Unit::bytes}}};
    for (const auto& [name, value] : settings) reward.settings[name] = value;
    return reward;
  }

 private:
  std::filesystem::path root_;
};

// `count` responses "0", "1", …, each its own answer.
struct NumberedResponses {
  explicit NumberedResponses(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) texts.push_back(std::to_string(i));
    for (const std::string& text : texts) requests.push_back({"say " + text, text, text, true, {}});
    for (std::size_t i = 0; i < count; ++i) prompts.push_back("say " + texts[i]);
    for (std::size_t i = 0; i < count; ++i) requests[i].prompt = prompts[i];
  }
  std::vector<std::string> texts, prompts;
  std::vector<RewardRequest> requests;
};

// Processes whose command line holds `text`.
inline std::vector<std::string> processes_with(const std::string& text) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find(text) != std::string::npos) found.push_back(entry.path().filename().string() + " " + line);
  }
  return found;
}

// Can processes have user, pid, mount and network namespaces here? What a test of the full sandbox needs.
inline bool full_sandbox_is_possible(const RewardProject& project) {
  auto reward = make_exec_reward(project.exec("/bin/sh -c 'exit 0'", {{"sandbox", Word{"full"}}}), project.place());
  NumberedResponses one(1);
  try {
    reward->judge(one.requests, {});
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace rlflow::testing
