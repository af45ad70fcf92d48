// How does a declaration become workers?
#include "nodes/reward/exec_reward.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "nodes/format/command.h"
#include "nodes/format/file.h"
#include "runtime/contract/attributes.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// The folder that a program's files lie in: PREFIX for PREFIX/bin/PROGRAM, else the program's own.
fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  const fs::path above = folder.parent_path();
  const bool part = folder.filename() == "bin" || folder.filename() == "shims" || folder.filename() == "sbin";
  const bool too_much = above == above.root_path() || above == fs::path(environment_value("HOME", "/nowhere"));
  return part && !too_much ? above : folder;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Folders beside the system's and the project that the program itself needs: those of an interpreter in somebody's
// home, where the name leads and where it really is.
std::vector<std::string> folders_of(const fs::path& program, const fs::path& root) {
  std::vector<std::string> folders;
  for (const fs::path& path :
       {fs::weakly_canonical(program.parent_path()) / program.filename(), fs::canonical(program)}) {
    const fs::path prefix = prefix_of(path);
    bool known = lies_in(prefix, root) || lies_in(prefix, "/usr") || lies_in(prefix, "/opt") || lies_in(prefix, "/nix");
    for (const std::string& folder : folders) known = known || lies_in(prefix, folder);
    if (!known) folders.push_back(prefix.string());
  }
  return folders;
}

reward_host::Wanted wanted_sandbox(const Attributes& settings) {
  if (!has(settings, "sandbox")) return reward_host::Wanted::best;
  const std::string word = text_at(settings, "sandbox");
  if (word == "full") return reward_host::Wanted::full;
  return word == "basic" ? reward_host::Wanted::basic : reward_host::Wanted::off;
}

WorkerCommand command_of(const PlanReward& reward, const RewardPlace& place, const ExecLimits& limits) {
  WorkerCommand command;
  command.host = place.host.string();
  command.limits = limits;
  command.batch = static_cast<std::size_t>(int_at(reward.settings, "batch"));
  reward_host::HostOptions& options = command.options;
  options.command = command_words(reward.argument);
  const auto program = find_program(options.command[0], place.root, environment_value("PATH", "/usr/bin:/bin"));
  if (!program) throw std::runtime_error("there is no program `" + options.command[0] + "`");
  options.sandbox = wanted_sandbox(reward.settings);
  options.network = bool_at(reward.settings, "network");
  options.root = place.root.string();
  options.helper = place.helper.string();
  if (!place.hidden.empty()) options.hidden = {place.hidden.string()};
  options.readable = folders_of(*program, place.root);
  options.memory_bytes = static_cast<std::uint64_t>(int_at(reward.settings, "memory"));
  options.recycle_bytes = limits.recycle_bytes;
  options.output_bytes = limits.output_bytes;
  options.processes = limits.processes;
  return command;
}

class ExecReward final : public Reward {
 public:
  ExecReward(std::string name, WorkerCommand command) : name_(std::move(name)), command_(std::move(command)) {}

  Judgement judge(std::span<const RewardRequest> requests, const Judging& how) override {
    const auto workers = static_cast<std::size_t>(std::max(1, how.workers));
    if (slots_.size() < workers) slots_.resize(workers);
    const auto slots = std::span(slots_).first(workers);
    Judgement judgement = JudgingLoop(command_, slots, requests, how).run();
    for (std::string& warning : judgement.warnings) warning = "reward `" + name_ + "`: " + warning;
    return judgement;
  }
  bool external() const override { return true; }

 private:
  std::string name_;
  WorkerCommand command_;
  std::vector<WorkerSlot> slots_;
};

}  // namespace

std::unique_ptr<Reward> make_exec_reward(const PlanReward& reward, const RewardPlace& place, const ExecLimits& limits) {
  try {
    return std::make_unique<ExecReward>(reward.name, command_of(reward, place, limits));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("reward `" + reward.name + "`: " + error.what());
  }
}

std::map<std::string, Digest> program_files(const PlanReward& reward, const RewardPlace& place) {
  std::map<std::string, Digest> files;
  if (reward.source != "exec") return files;
  constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;
  for (const std::string& word : command_words(reward.argument)) {
    const fs::path path = place.root / word;
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargest) continue;
    const std::string text = read_text_file(path, kLargest);
    files[word] = sha256(std::as_bytes(std::span(text)));
  }
  return files;
}

}  // namespace rlflow
