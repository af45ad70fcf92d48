// fork, exec, poll: the program under test as a child process.
#include "tests/support/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rlflow::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "pipe2 failed";
    read_end = ends[0];
    write_end = ends[1];
  }
};

[[noreturn]] void become(const std::vector<std::string>& argv, const ProcessOptions& options, Pipe& in, Pipe& out,
                         Pipe& err) {
  setpgid(0, 0);
  dup2(in.read_end, 0);
  dup2(out.write_end, 1);
  dup2(err.write_end, 2);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  if (chdir(options.folder.c_str()) == 0) execvp(pointers[0], pointers.data());
  _exit(127);
}

// Appends what is readable; false at the end of the stream.
bool drain(int descriptor, std::string& into) {
  char buffer[65536];
  ssize_t count = read(descriptor, buffer, sizeof buffer);
  if (count > 0) into.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

int poll_timeout(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

void collect(pid_t child, const ProcessOptions& options, int out, int err, ProcessResult& result) {
  std::optional<Clock::time_point> deadline;
  bool armed = !options.kill_after;
  bool signalled = false;
  pollfd streams[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (!armed && result.out.find(options.kill_when) != std::string::npos) {
      deadline = Clock::now() + *options.kill_after;
      armed = true;
    }
    int ready = poll(streams, 2, poll_timeout(deadline));
    if (ready == 0) {
      kill(-child, SIGKILL);
      deadline.reset();
    }
    if (streams[0].fd >= 0 && streams[0].revents != 0 && !drain(out, result.out)) streams[0].fd = -1;
    if (streams[1].fd >= 0 && streams[1].revents != 0 && !drain(err, result.err)) streams[1].fd = -1;
    if (options.signal && !signalled && result.out.find(options.signal_when) != std::string::npos) {
      kill(child, *options.signal);
      signalled = true;
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  Pipe in, out, err;
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) become(argv, options, in, out, err);
  setpgid(child, child);
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  // Inputs of these tests are smaller than a pipe's buffer.
  if (write(in.write_end, options.input.data(), options.input.size()) < 0) ADD_FAILURE() << "write to child failed";
  close(in.write_end);
  ProcessResult result;
  collect(child, options, out.read_end, err.read_end, result);
  close(out.read_end);
  close(err.read_end);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return result;
}

ScratchFolder::ScratchFolder(const std::string& name) {
  path_ = (std::filesystem::path(::testing::TempDir()) / ("rlflow-" + name + "-" + std::to_string(getpid()))).string();
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) ADD_FAILURE() << "cannot write " << path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ADD_FAILURE() << "cannot read " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace rlflow::testing
