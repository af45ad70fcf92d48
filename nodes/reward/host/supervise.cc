// How is a worker watched, ended and reported?
#include "nodes/reward/host/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "nodes/reward/host/failed_call.h"
#include "nodes/reward/host/printed.h"
#include "nodes/reward/host/process_tree.h"
#include "nodes/reward/host/start_worker.h"
#include "nodes/reward/worker_report.h"

namespace rlflow::reward_host {
namespace {

constexpr int kLookMilliseconds = 50;  // how often processes and memory are counted

void report(const std::string& word, const std::string& text) {
  const std::string record = report_record(word, text);
  for (std::size_t sent = 0; sent < record.size();) {
    const ssize_t count = write(kReportDescriptor, record.data() + sent, record.size() - sent);
    if (count <= 0) return;  // nobody listens any more
    sent += static_cast<std::size_t>(count);
  }
}

std::string ended_text(int status) {
  if (WIFEXITED(status)) return "it exited with status " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return "it was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
}

class Supervisor {
 public:
  Supervisor(const HostOptions& options, StartedWorker worker, int out, int err, int signals)
      : options_(options), worker_(std::move(worker)), streams_{out, err}, signals_(signals) {}

  // Until something ends the worker.
  void watch() {
    while (!ended_) {
      pollfd files[4] = {
          {kControlDescriptor, POLLIN, 0}, {signals_, POLLIN, 0}, {streams_[0], POLLIN, 0}, {streams_[1], POLLIN, 0}};
      const int ready = poll(files, 4, kLookMilliseconds);
      if (files[0].revents != 0 && ready > 0) ended_ = "it was ended by the engine";
      for (int i = 0; i < 2; ++i) {
        if (ready > 0 && files[2 + i].revents != 0) drain(i);
      }
      if (ready > 0 && files[1].revents != 0) look_for_end();
      if (!ended_ && look_due()) look();
    }
  }

  void end() {
    if (worker_.tier == SandboxTier::full) {
      if (!reaped_) kill(worker_.child, SIGKILL);
      if (!reaped_) waitpid(worker_.child, nullptr, 0);  // returns once everything in the namespace is gone
    } else if (!kill_descendants()) {
      ended_ = *ended_ + "; some of its processes could not be ended";
    }
    for (int i = 0; i < 2; ++i) drain(i);
    report("out", printed_[0].text());
    report("err", printed_[1].text());
    report("ended", *ended_);
  }

 private:
  void drain(int i) {
    if (streams_[i] < 0) return;
    char buffer[65536];
    const ssize_t count = read(streams_[i], buffer, sizeof buffer);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      close(streams_[i]);
      streams_[i] = -1;  // poll passes it over
      return;
    }
    printed_[i].add({buffer, static_cast<std::size_t>(count)});
    if (printed_[i].total() > options_.output_bytes && !ended_) {
      ended_ = "it printed more than " + std::to_string(options_.output_bytes) + " bytes";
    }
  }

  // Orphans of a basic worker end here too.
  void look_for_end() {
    signalfd_siginfo info{};
    static_cast<void>(!read(signals_, &info, sizeof info));
    int status = 0;
    for (pid_t child = 0; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (child != worker_.child) continue;
      reaped_ = true;
      ended_ = ended_text(worker_status(status));
    }
  }

  int worker_status(int status) const {
    int told = 0;
    const bool known = worker_.status >= 0 && read(worker_.status, &told, sizeof told) == sizeof told;
    return known ? told : status;
  }

  bool look_due() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long long milliseconds = static_cast<long long>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
    if (milliseconds - looked_ < kLookMilliseconds) return false;
    looked_ = milliseconds;
    return true;
  }

  void look() {
    const pid_t root = worker_.tier == SandboxTier::full ? worker_.child : getpid();
    const std::vector<pid_t> processes = descendants(root, options_.processes + 1);
    if (processes.size() > options_.processes) {
      ended_ = "it had more than " + std::to_string(options_.processes) + " processes";
      return;
    }
    const std::uint64_t memory = memory_of(processes);
    if (memory > options_.memory_bytes) {
      ended_ = "it used more than " + std::to_string(options_.memory_bytes >> 20) + " MiB of memory";
    } else if (memory > options_.recycle_bytes && !large_) {
      large_ = true;
      report("large", "");
    }
  }

  const HostOptions& options_;
  StartedWorker worker_;
  int streams_[2];
  int signals_;
  Printed printed_[2];
  std::optional<std::string> ended_;
  long long looked_ = 0;
  bool large_ = false;
  bool reaped_ = false;  // the worker's end has been taken, its number may be another's
};

struct Stream {
  int read_end = -1;
  int write_end = -1;
  Stream() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_end = ends[0];
    write_end = ends[1];
    fcntl(read_end, F_SETFL, O_NONBLOCK);
  }
};

int child_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

std::string make_scratch() {
  char path[] = "/tmp/rlflow-reward-XXXXXX";
  const char* made = mkdtemp(path);
  return made != nullptr ? made : "";
}

}  // namespace

int supervise(const HostOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const int signals = child_signals();
  Stream out, err;
  const std::string scratch = make_scratch();
  StartedWorker worker = start_worker(options, out.write_end, err.write_end, scratch);
  for (int file : {out.write_end, err.write_end, kRequestsDescriptor, kRepliesDescriptor}) close(file);
  std::error_code ignored;
  const bool started = worker.refused.empty();
  if (started) {
    report(tier_name(worker.tier), worker.weaker);
    Supervisor supervisor(options, std::move(worker), out.read_end, err.read_end, signals);
    supervisor.watch();
    supervisor.end();
  } else {
    report("refused", worker.refused);
  }
  if (!scratch.empty()) std::filesystem::remove_all(scratch, ignored);
  return started ? 0 : 1;
}

}  // namespace rlflow::reward_host
