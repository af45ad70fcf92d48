// Namespaces first, then the tier below: what is tried, and what is said where it fails?
#include "nodes/reward/host/start_worker.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "nodes/reward/host/failed_call.h"
#include "nodes/reward/host/landlock.h"
#include "nodes/reward/host/view.h"

namespace rlflow::reward_host {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) read_end = ends[0], write_end = ends[1];
  }
};

std::string read_to_end(int file) {
  std::string text;
  char buffer[512];
  for (ssize_t count = 0; (count = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

bool write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool done = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  return done;
}

// Inside it is an ordinary user, outside the one who runs rlflow.
bool map_user(pid_t child) {
  const std::string folder = "/proc/" + std::to_string(child);
  return write_text(folder + "/setgroups", "deny") &&
         write_text(folder + "/uid_map", "1000 " + std::to_string(geteuid()) + " 1") &&
         write_text(folder + "/gid_map", "1000 " + std::to_string(getegid()) + " 1");
}

// The first process of a pid namespace: starts the worker, reaps orphans, and when the worker ends says how and ends;
// then the kernel kills whatever is left in the namespace.
[[noreturn]] void be_first(const HostOptions& options, const WorkerPipes& pipes, int mapped, int status) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  char byte = 0;
  if (read(mapped, &byte, 1) != 1) _exit(127);  // the host is gone, or could not map the user
  if (std::string why = enter_view(options); !why.empty()) fail_setup(pipes.setup, 'S', why);
  const pid_t worker = fork();
  if (worker < 0) fail_setup(pipes.setup, 'S', failed_call("fork"));
  if (worker == 0) become_worker(options, pipes, {SandboxTier::full, "/tmp", {}});
  for (int file : {pipes.setup, pipes.out, pipes.err, kRequestsDescriptor, kRepliesDescriptor}) close(file);
  int ended = 0;
  for (pid_t child = 0; child != worker;) {
    child = waitpid(-1, &ended, 0);
    if (child < 0 && errno != EINTR) break;
  }
  static_cast<void>(!write(status, &ended, sizeof ended));
  _exit(0);
}

unsigned long namespaces_of(const HostOptions& options) {
  const unsigned long all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
  return options.network ? all : all | CLONE_NEWNET;
}

// Waits until the child has become the program or said why not. Nothing is left of it where it did not.
std::string await_start(pid_t child, int setup) {
  const std::string text = read_to_end(setup);
  close(setup);
  if (text.empty()) return "";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return text;
}

std::string start_full(const HostOptions& options, int out, int err, StartedWorker& worker) {
  Pipe setup, mapped, status;
  const long child = syscall(SYS_clone, namespaces_of(options) | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return "S" + failed_call("namespaces");
  if (child == 0) {
    close(mapped.write_end);
    be_first(options, {out, err, setup.write_end}, mapped.read_end, status.write_end);
  }
  worker.child = static_cast<pid_t>(child);
  const bool done = map_user(worker.child);
  const std::string unmapped = done ? "" : "S" + failed_call("user namespace");
  if (done) static_cast<void>(!write(mapped.write_end, "m", 1));
  for (int file : {setup.write_end, mapped.read_end, mapped.write_end, status.write_end}) close(file);
  std::string why = await_start(worker.child, setup.read_end);
  if (why.empty() && !done) waitpid(worker.child, nullptr, 0);
  if (!done) why = unmapped;
  worker.status = status.read_end;
  worker.tier = SandboxTier::full;
  return why;
}

std::string start_below(const HostOptions& options, int out, int err, const WorkerPlace& place, StartedWorker& worker) {
  Pipe setup;
  const pid_t child = fork();
  if (child < 0) return "S" + failed_call("fork");
  if (child == 0) become_worker(options, {out, err, setup.write_end}, place);
  worker.child = child;
  worker.status = -1;
  worker.tier = place.tier;
  close(setup.write_end);
  return await_start(child, setup.read_end);
}

// What a basic worker might still do, for the warning.
std::string not_guaranteed() {
  std::string text = "a fork bomb may slow the machine down";
  if (landlock_version() == 0) text += "; the kernel has no Landlock, so it may read and write this user's files";
  return text;
}

void refuse(const std::string& why, StartedWorker& worker) {
  worker.refused = why[0] == 'C' ? why.substr(1) : "no sandbox is possible here: " + why.substr(1);
}

}  // namespace

StartedWorker start_worker(const HostOptions& options, int out, int err, const std::string& scratch) {
  StartedWorker worker;
  std::string why;
  if (options.sandbox == Wanted::best || options.sandbox == Wanted::full) {
    if (geteuid() == 0) static_cast<void>(setgroups(0, nullptr));
    why = start_full(options, out, err, worker);
    if (why.empty()) return worker;
    if (why[0] == 'C') return refuse(why, worker), worker;
    if (options.sandbox == Wanted::full) {
      worker.refused = "`sandbox = full` is not possible here: " + why.substr(1);
      return worker;
    }
    worker.weaker = why.substr(1) + "; " + not_guaranteed();
  }
  const bool off = options.sandbox == Wanted::off;
  const WorkerPlace place{off ? SandboxTier::off : SandboxTier::basic,
                          scratch,
                          {getpid(), getppid(), 1, -1, -getpid(), -getpgid(getppid())}};
  why = start_below(options, out, err, place, worker);
  if (!why.empty()) refuse(why, worker);
  return worker;
}

}  // namespace rlflow::reward_host
