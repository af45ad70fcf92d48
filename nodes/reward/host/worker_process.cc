// What happens between fork and exec of a reward program?
#include "nodes/reward/host/worker_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "nodes/reward/host/failed_call.h"
#include "nodes/reward/host/landlock.h"
#include "nodes/reward/host/syscall_filter.h"

namespace rlflow::reward_host {
namespace {

std::string take_descriptors(const WorkerPipes& pipes) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  // Above every target, so that none is overwritten before it is used.
  constexpr int kAbove = 20;
  const int from[] = {nothing, pipes.out, pipes.err, kRequestsDescriptor, kRepliesDescriptor};
  const int to[] = {0, 1, 2, kWorkerRequests, kWorkerReplies};
  int moved[5];
  for (int i = 0; i < 5; ++i) moved[i] = fcntl(from[i], F_DUPFD_CLOEXEC, kAbove);
  const int setup = fcntl(pipes.setup, F_DUPFD_CLOEXEC, kAbove);
  for (int i = 0; i < 5; ++i) {
    if (moved[i] < 0 || dup2(moved[i], to[i]) < 0) return failed_call("descriptors");
  }
  if (dup3(setup, pipes.setup, O_CLOEXEC) < 0) return failed_call("descriptors");
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, kWorkerReplies + 1, ~0u, kCloseOnExec) == 0) return "";
  return failed_call("close_range");
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
  now.rlim_cur = now.rlim_max;
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

void set_limits(const HostOptions& options, const WorkerPlace& place) {
  constexpr rlim_t kLargestFile = rlim_t{256} << 20;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_DATA, options.memory_bytes);
  limit(RLIMIT_FSIZE, kLargestFile);
  limit(RLIMIT_NOFILE, 1024);
  limit(RLIMIT_MSGQUEUE, 0);
  // Counted by user: where the worker has a user namespace of its own the count is its own too. The host counts as
  // well and says so; this one, a little higher, holds the machine until it does. The kernel does not keep it for root.
  constexpr rlim_t kSlack = 64;
  if (place.tier == SandboxTier::full) limit(RLIMIT_NPROC, options.processes + kSlack);
}

// Whatever user this is, it has no right beyond that user's.
std::string drop_capabilities() {
  for (unsigned long capability = 0; capability < 64; ++capability) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0 ? "" : failed_call("capset");
}

FileRights rights_of(const HostOptions& options, const WorkerPlace& place) {
  FileRights rights;
  rights.devices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  if (place.tier == SandboxTier::full) {  // the view holds nothing else
    rights.readable = {"/"};
    rights.writable = {"/tmp", "/dev/shm"};
    return rights;
  }
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "nix", "proc"}) {
    rights.readable.push_back(std::string("/") + name);
  }
  for (const char* name :
       {"alternatives", "ca-certificates", "fonts", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
        "localtime", "mime.types", "nsswitch.conf", "passwd", "perl", "resolv.conf", "ssl"}) {
    rights.readable.push_back(std::string("/etc/") + name);
  }
  for (const std::string& path : options.readable) rights.readable.push_back(path);
  if (!options.helper.empty()) rights.readable.push_back(options.helper);
  for (std::string& path : all_but(options.root, options.hidden)) rights.readable.push_back(std::move(path));
  rights.listable = {options.root};
  rights.writable = {place.scratch};
  return rights;
}

std::string shut_in(const HostOptions& options, const WorkerPlace& place) {
  if (std::string why = drop_capabilities(); !why.empty()) return why;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed_call("no_new_privs");
  if (landlock_version() > 0) {
    if (std::string why = restrict_files(rights_of(options, place)); !why.empty()) return why;
  }
  SyscallRules rules;
  rules.network = options.network;
  rules.local_sockets = place.tier == SandboxTier::full;
  rules.protected_processes = place.protected_processes;
  return filter_syscalls(rules);
}

void set_environment(const HostOptions& options, const WorkerPlace& place) {
  if (place.tier != SandboxTier::off) {
    const char* path = std::getenv("PATH");
    const std::string kept = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    clearenv();
    setenv("PATH", kept.c_str(), 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("HOME", place.scratch.c_str(), 1);
    setenv("TMPDIR", place.scratch.c_str(), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  }
  if (!options.helper.empty()) {
    const char* before = std::getenv("PYTHONPATH");
    const std::string path = options.helper + (before != nullptr ? ":" + std::string(before) : "");
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  setenv("RLFLOW_REQUESTS", std::to_string(kWorkerRequests).c_str(), 1);
  setenv("RLFLOW_REPLIES", std::to_string(kWorkerReplies).c_str(), 1);
}

void default_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void fail_setup(int setup, char kind, const std::string& why) {
  const std::string text = kind + why;
  static_cast<void>(!write(setup, text.data(), text.size()));
  _exit(127);
}

void become_worker(const HostOptions& options, const WorkerPipes& pipes, const WorkerPlace& place) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  default_signals();
  if (std::string why = take_descriptors(pipes); !why.empty()) fail_setup(pipes.setup, 'S', why);
  if (chdir(options.root.c_str()) != 0) fail_setup(pipes.setup, 'C', failed_call("folder `" + options.root + "`"));
  set_environment(options, place);
  set_limits(options, place);
  if (place.tier != SandboxTier::off) {
    if (std::string why = shut_in(options, place); !why.empty()) fail_setup(pipes.setup, 'S', why);
  }
  std::vector<char*> arguments;
  for (const std::string& word : options.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  fail_setup(pipes.setup, 'C', failed_call("cannot start `" + options.command[0] + "`"));
}

}  // namespace rlflow::reward_host
