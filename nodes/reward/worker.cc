// How is a worker's host started, spoken to and ended?
#include "nodes/reward/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

extern char** environ;

namespace rlflow {
namespace {

constexpr int kEndMilliseconds = 5000;  // the host's time to kill and report

// Two ends, close-on-exec, above the numbers that the host gets.
struct Ends {
  int here = -1;
  int there = -1;

  explicit Ends(bool both_ways) {
    int ends[2] = {-1, -1};
    if ((both_ways ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC)) != 0) {
      throw std::runtime_error(std::string("no descriptor for a reward worker: ") + std::strerror(errno));
    }
    constexpr int kAbove = 16;
    here = fcntl(ends[0], F_DUPFD_CLOEXEC, kAbove);
    there = fcntl(ends[1], F_DUPFD_CLOEXEC, kAbove);
    close(ends[0]);
    close(ends[1]);
    fcntl(here, F_SETFL, O_NONBLOCK);
  }
};

// posix_spawn's two objects, freed at the end of the scope.
struct Spawn {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Spawn() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A session of its own: a Ctrl-C at the terminal is the engine's to act upon.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

pid_t start(const std::string& host, const reward_host::HostOptions& options, const int (&there)[4]) {
  Spawn spawn;
  posix_spawn_file_actions_addopen(&spawn.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.files, 2, "/dev/null", O_WRONLY, 0);
  for (int i = 0; i < 4; ++i) {
    posix_spawn_file_actions_adddup2(&spawn.files, there[i], reward_host::kControlDescriptor + i);
  }
  std::vector<std::string> words = to_arguments(options);
  words.insert(words.begin(), host);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error = posix_spawn(&child, host.c_str(), &spawn.files, &spawn.attributes, arguments.data(), environ);
  if (error == 0) return child;
  throw std::runtime_error("cannot start " + host + ": " + std::strerror(error) + "; `./dev build` makes it");
}

void close_all(std::initializer_list<int*> files) {
  for (int* file : files) {
    if (*file >= 0) close(*file);
    *file = -1;
  }
}

}  // namespace

Worker::Worker(const std::string& host, const reward_host::HostOptions& options) {
  Ends control(true), requests(true), reports(false), replies(false);
  int there[4] = {control.there, reports.there, requests.there, replies.there};
  control_ = control.here;
  reports_ = reports.here;
  requests_ = requests.here;
  replies_ = replies.here;
  try {
    host_ = start(host, options, there);
  } catch (...) {
    for (int& file : there) close(file);
    close_all({&requests_, &replies_, &reports_, &control_});
    throw;
  }
  for (int& file : there) close(file);
}

Worker::~Worker() {
  try {
    end();
  } catch (...) {  // a report that is none: nobody waits for it
    if (host_ > 0) kill(host_, SIGKILL);
  }
}

bool Worker::send(std::string& bytes) const {
  const ssize_t count = ::send(requests_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  bytes.erase(0, static_cast<std::size_t>(count));
  return true;
}

bool Worker::receive(std::string& bytes) const {
  char buffer[65536];
  const ssize_t count = read(replies_, buffer, sizeof buffer);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  bytes.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

bool Worker::read_reports() {
  char buffer[65536];
  const ssize_t count = read(reports_, buffer, sizeof buffer);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  unread_.append(buffer, static_cast<std::size_t>(count));
  read_records(unread_, report_);
  return count > 0;
}

bool Worker::await_end(int milliseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (report_.ended.empty() && report_.refused.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd file{reports_, POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(left)) > 0 && !read_reports()) break;
  }
  return true;
}

void Worker::end() {
  if (host_ < 0) return;
  close_all({&control_});
  bool told = true;
  while (told) {
    pollfd file{reports_, POLLIN, 0};
    const int ready = poll(&file, 1, kEndMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;  // the host does not end: what it keeps dies with it, or is orphaned and cannot be found
    told = read_reports();
  }
  if (told) kill(host_, SIGKILL);
  int status = 0;
  while (waitpid(host_, &status, 0) < 0 && errno == EINTR) continue;
  if (report_.ended.empty() && report_.refused.empty()) report_.ended = "its host was killed";
  host_ = -1;
  close_all({&requests_, &replies_, &reports_});
}

}  // namespace rlflow
