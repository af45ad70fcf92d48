// How is the list of refused calls made into a seccomp program?
#include "nodes/reward/host/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "nodes/reward/host/failed_call.h"

namespace rlflow::reward_host {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherNumbers = 0x40000000;  // the x32 table of calls begins here
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOtherNumbers = 0xffffffff;
#else
#error "the seccomp filter knows x86-64 and aarch64"
#endif

// Ways out of a sandbox: other processes' memory, namespaces and mounts, the kernel's settings, calls made by proxy.
constexpr long kRefused[] = {SYS_ptrace,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_pidfd_getfd,
                             SYS_kcmp,
                             SYS_unshare,
                             SYS_setns,
                             SYS_mount,
                             SYS_umount2,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_move_mount,
                             SYS_open_tree,
                             SYS_fsopen,
                             SYS_fsmount,
                             SYS_mount_setattr,
                             SYS_bpf,
                             SYS_perf_event_open,
                             SYS_userfaultfd,
                             SYS_io_uring_setup,
                             SYS_io_uring_enter,
                             SYS_io_uring_register,
                             SYS_add_key,
                             SYS_request_key,
                             SYS_keyctl,
                             SYS_init_module,
                             SYS_finit_module,
                             SYS_delete_module,
                             SYS_kexec_load,
                             SYS_kexec_file_load,
                             SYS_reboot,
                             SYS_swapon,
                             SYS_swapoff,
                             SYS_settimeofday,
                             SYS_clock_settime,
                             SYS_clock_adjtime,
                             SYS_adjtimex,
                             SYS_sethostname,
                             SYS_setdomainname,
                             SYS_quotactl,
                             SYS_acct,
                             SYS_syslog,
                             SYS_open_by_handle_at,
                             SYS_vhangup,
                             SYS_personality,
                             SYS_tkill};

// Calls whose first argument is the process that gets a signal.
constexpr long kSignals[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open};

constexpr std::uint32_t kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void give(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void refuse(int error) { give(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }
  // The next instruction runs only if …
  void if_equal(std::uint32_t value) { jump(BPF_JEQ, value, 0, 1); }
  void if_not_equal(std::uint32_t value) { jump(BPF_JEQ, value, 1, 0); }
  void if_at_least(std::uint32_t value) { jump(BPF_JGE, value, 0, 1); }
  void if_any_bit(std::uint32_t bits) { jump(BPF_JSET, bits, 0, 1); }
  // Of a call's first argument, until `end_of_call`. What is between must end in an answer or fall through.
  std::size_t begin_call(long number) {
    load(offsetof(seccomp_data, nr));
    jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, 0);
    load(offsetof(seccomp_data, args));
    return code_.size() - 2;
  }
  void end_of_call(std::size_t begun) { code_[begun].jf = static_cast<std::uint8_t>(code_.size() - begun - 1); }
  std::string install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return "";
    return failed_call("seccomp");
  }

 private:
  void add(int code, std::uint32_t value) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, value}); }
  void jump(int test, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), yes, no, value});
  }
  std::vector<sock_filter> code_;
};

void refuse_sockets(const SyscallRules& rules, Program& program) {
  if (rules.network) return;
  const std::size_t call = program.begin_call(SYS_socket);
  if (rules.local_sockets) {
    program.if_not_equal(AF_UNIX);
    program.refuse(EACCES);
  } else {
    program.refuse(EACCES);
  }
  program.end_of_call(call);
}

void protect_processes(const SyscallRules& rules, Program& program) {
  if (rules.protected_processes.empty()) return;
  for (long number : kSignals) {
    const std::size_t call = program.begin_call(number);
    for (pid_t process : rules.protected_processes) {
      program.if_equal(static_cast<std::uint32_t>(process));
      program.refuse(EPERM);
    }
    program.end_of_call(call);
  }
}

}  // namespace

std::string filter_syscalls(const SyscallRules& rules) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.if_not_equal(kArchitecture);
  program.give(SECCOMP_RET_KILL_PROCESS);
  program.load(offsetof(seccomp_data, nr));
  program.if_at_least(kOtherNumbers);
  program.refuse(ENOSYS);
  program.if_equal(SYS_clone3);  // its flags lie in memory, out of sight: programs then use clone
  program.refuse(ENOSYS);
  for (long number : kRefused) {
    program.if_equal(static_cast<std::uint32_t>(number));
    program.refuse(EPERM);
  }
  const std::size_t call = program.begin_call(SYS_clone);
  program.if_any_bit(kNamespaces);
  program.refuse(EPERM);
  program.end_of_call(call);
  refuse_sockets(rules, program);
  protect_processes(rules, program);
  program.give(SECCOMP_RET_ALLOW);
  return program.install();
}

}  // namespace rlflow::reward_host
