// Runs the built program as a user would: arguments in, exit code and both streams out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rlflow::testing {

struct ProcessResult {
  int exit_code = -1;  // -1 if it died of a signal
  int signal = 0;
  std::string out;
  std::string err;
  double cpu_seconds = 0;  // user and system
};

struct ProcessOptions {
  std::string folder = ".";                        // working directory
  std::map<std::string, std::string> environment;  // added to this process's own
  std::string input;
  // SIGKILL for the whole process group once this much time has passed since the standard output held
  // `kill_when` (empty: since the start), unless it ended before.
  std::optional<std::chrono::microseconds> kill_after;
  std::string kill_when;
  // This signal, once, as soon as the standard output holds `signal_when`.
  std::optional<int> signal;
  std::string signal_when;
};

// Blocks until the process has ended and both streams are closed.
ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options = {});

// A fresh folder below the test's temporary directory, removed with everything in it at the end of the scope.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace rlflow::testing
