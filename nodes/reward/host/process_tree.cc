// How are descendants found in /proc?
#include "nodes/reward/host/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace rlflow::reward_host {
namespace {

namespace fs = std::filesystem;

// For kernels without /proc/*/task/*/children: everyone's parent is asked.
void add_children_of_all(pid_t process, std::vector<pid_t>& found) {
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry->path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t after_name = line.rfind(')');  // "PID (NAME) STATE PARENT …"
    if (after_name == std::string::npos || after_name + 4 >= line.size()) continue;
    if (std::atoi(line.c_str() + after_name + 4) == process) found.push_back(std::stoi(name));
  }
}

// Children of every thread of the process.
void add_children(pid_t process, std::vector<pid_t>& found) {
  std::error_code error;
  static const bool listed = fs::exists("/proc/thread-self/children");
  if (!listed) return add_children_of_all(process, found);
  const fs::path threads = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator entry(threads, error), end; !error && entry != end; entry.increment(error)) {
    std::ifstream children(entry->path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
}

std::uint64_t kibibytes(const std::string& line) { return std::stoull(line.substr(line.find(':') + 1)); }

}  // namespace

std::vector<pid_t> descendants(pid_t root, std::size_t limit) {
  std::vector<pid_t> found;
  add_children(root, found);
  for (std::size_t next = 0; next < found.size() && found.size() < limit; ++next) add_children(found[next], found);
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::uint64_t memory_of(const std::vector<pid_t>& processes) {
  std::uint64_t anonymous = 0, shared = 0;
  for (pid_t process : processes) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:")) anonymous += kibibytes(line);
      if (line.starts_with("RssShmem:")) shared = std::max(shared, kibibytes(line));
    }
  }
  return (anonymous + shared) * 1024;
}

bool kill_descendants() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(2);
  for (;;) {
    for (pid_t process : descendants(getpid(), std::numeric_limits<std::size_t>::max())) kill(process, SIGKILL);
    for (;;) {
      const pid_t ended = waitpid(-1, nullptr, WNOHANG);
      if (ended < 0) return true;  // no children: orphans would be children of this subreaper
      if (ended == 0) break;
    }
    if (Clock::now() > until) return false;
    // What was killed is about to end: its end is waited for, not polled.
    siginfo_t info{};
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
  }
}

}  // namespace rlflow::reward_host
