// How are rights on files given to the kernel?
#include "nodes/reward/host/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "nodes/reward/host/failed_call.h"

namespace rlflow::reward_host {
namespace {

namespace fs = std::filesystem;

// The kernel's interface, of which Debian 12's headers know only the first three versions.
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};
constexpr unsigned kVersionFlag = 1;
constexpr int kPathBeneath = 1;
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr std::uint64_t kTruncate = 1 << 14, kDeviceControl = 1 << 15;
constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kAbstractSockets = 1 << 0, kSignals = 1 << 1;

// Everything about files that this version can refuse.
std::uint64_t known_rights(int version) {
  if (version >= 5) return (1 << 16) - 1;
  if (version >= 3) return (1 << 15) - 1;
  return version >= 2 ? (1 << 14) - 1 : (1 << 13) - 1;
}

// A path that is not there grants nothing.
bool allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (file < 0) return true;
  struct stat status {};
  PathRule rule;
  rule.folder = file;
  rule.allowed = fstat(file, &status) == 0 && S_ISDIR(status.st_mode) ? rights : rights & kFileRights;
  const bool done = rule.allowed == 0 || syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0) == 0;
  close(file);
  return done;
}

bool allow_all(int ruleset, const FileRights& rights, std::uint64_t known) {
  bool done = true;
  for (const std::string& path : rights.readable) {
    done = done && allow(ruleset, path, known & (kExecute | kReadFile | kReadFolder));
  }
  for (const std::string& path : rights.listable) done = done && allow(ruleset, path, known & kReadFolder);
  for (const std::string& path : rights.writable) done = done && allow(ruleset, path, known);
  for (const std::string& path : rights.devices) {
    done = done && allow(ruleset, path, known & (kReadFile | kWriteFile | kTruncate));
  }
  return done;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  return version < 0 ? 0 : static_cast<int>(version);
}

std::string restrict_files(const FileRights& rights) {
  const int version = landlock_version();
  if (version == 0) return "the kernel has no Landlock";
  RulesetAttributes attributes;
  attributes.files = known_rights(version);
  if (version >= 6) attributes.scoped = kAbstractSockets | kSignals;
  const std::size_t size = version >= 6 ? sizeof attributes : sizeof attributes.files;
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return failed_call("Landlock");
  if (!allow_all(ruleset, rights, attributes.files)) return failed_call("Landlock rule");
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) return failed_call("Landlock restriction");
  close(ruleset);
  return "";
}

std::vector<std::string> all_but(const std::string& folder, const std::vector<std::string>& hidden) {
  bool touched = false;
  for (const std::string& path : hidden) {
    if (path == folder) return {};
    touched = touched || is_below(path, folder);
  }
  if (!touched) return {folder};
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_symlink(error)) continue;  // what it leads to is granted where it lies, or not at all
    for (std::string& path : all_but(entry->path().string(), hidden)) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace rlflow::reward_host
