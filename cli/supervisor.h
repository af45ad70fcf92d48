// Who starts a run again when its process is lost? A process that holds neither store, nor device, nor the run library.
#pragma once

#include <functional>
#include <string>

#include "cli/verb.h"

namespace rlflow {

struct Supervision {
  int restarts = 0;   // at most so many
  bool json = false;  // restarts are told as JSON lines on the standard output
  std::string name;   // of the run, for what is printed
};

// Runs `begin` in a child process and, each time that process is killed by a signal or ends with exit code 5, `go_on`
// in another one. Any other end is the end. SIGINT and SIGTERM are forwarded, and nothing is started after them; a
// closed terminal stops nothing. The child leaves, paused, when the supervisor dies. Returns the last child's exit
// code, 128 + the signal that killed it. Call before any thread is started.
ExitCode supervise(const Supervision& supervision, const Session& session, const std::function<ExitCode()>& begin,
                   const std::function<ExitCode()>& go_on);

}  // namespace rlflow
