// fork, wait, and again.
#include "cli/supervisor.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/diagnostic_output.h"
#include "compiler/names.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

// A signal handler can reach nothing but these.
volatile std::sig_atomic_t child_process = 0;
volatile std::sig_atomic_t asked_to_leave = 0;

extern "C" void forward_signal(int number) {
  asked_to_leave = number;
  if (child_process > 0) kill(static_cast<pid_t>(child_process), number);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

int end_of(const Session& session, const std::function<ExitCode()>& work) {
  try {
    return static_cast<int>(work());
  } catch (const StoreError& error) {
    print_outcome({error.code, error.code_id, error.what(), error.help, std::nullopt}, nullptr, session);
    return static_cast<int>(error.code);
  } catch (const std::exception& error) {
    std::cerr << "rlflow: " << error.what() << "\n";
    return static_cast<int>(ExitCode::could_not_answer);
  }
}

// A process group of its own, so that a Ctrl-C reaches it once: through the supervisor.
[[noreturn]] void be_child(pid_t supervisor, const Session& session, const std::function<ExitCode()>& work) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
  if (getppid() != supervisor) _exit(static_cast<int>(ExitCode::terminated));
  int code = end_of(session, work);
  std::cout << std::flush;
  std::cerr << std::flush;
  std::fflush(nullptr);
  _exit(code);
}

struct End {
  int code = 0;
  int signal = 0;
  bool lost() const { return signal != 0 || code == static_cast<int>(ExitCode::device_lost); }
  std::string text() const {
    if (signal != 0)
      return "its process was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    return "its process ended with exit code " + std::to_string(code);
  }
};

End run_child(const Session& session, const std::function<ExitCode()>& work) {
  std::cout << std::flush;
  const pid_t supervisor = getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) be_child(supervisor, session, work);
  child_process = child;
  if (asked_to_leave != 0) kill(child, asked_to_leave);  // it came before there was a child to tell
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  child_process = 0;
  End end;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

void tell_restart(const Supervision& supervision, int number, const End& end) {
  if (supervision.json) {
    nlohmann::json line = {{"format", "rlflow.run/1"},
                           {"event", "restart"},
                           {"restart", number},
                           {"of", supervision.restarts},
                           {"cause", end.text()}};
    std::cout << line.dump() << std::endl;
    return;
  }
  std::cerr << "restart " << number << " of " << supervision.restarts << ": " << end.text() << "; `" << supervision.name
            << "` goes on" << std::endl;
}

}  // namespace

ExitCode supervise(const Supervision& supervision, const Session& session, const std::function<ExitCode()>& begin,
                   const std::function<ExitCode()>& go_on) {
  handle(SIGINT, forward_signal);
  handle(SIGTERM, forward_signal);
  handle(SIGHUP, SIG_IGN);
  End end = run_child(session, begin);
  int restarts = 0;
  while (end.lost() && asked_to_leave == 0 && restarts < supervision.restarts) {
    tell_restart(supervision, ++restarts, end);
    end = run_child(session, go_on);
  }
  if (end.lost() && asked_to_leave == 0) {
    std::cerr << "`" << supervision.name << "` was restarted " << counted(restarts, "time")
              << " and is given up: " << end.text() << "\n  = help: " << session.invoked_as << " resume "
              << supervision.name << std::endl;
  }
  return static_cast<ExitCode>(end.signal != 0 ? 128 + end.signal : end.code);
}

}  // namespace rlflow
