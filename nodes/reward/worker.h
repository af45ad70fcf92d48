// One process of a reward program, in its sandbox, with the descriptors that lead to it.
#pragma once

#include <sys/types.h>

#include <string>

#include "nodes/reward/host/options.h"
#include "nodes/reward/worker_report.h"

namespace rlflow {

// Owned by one thread. Its end, and that of everything it started, is the end of the object.
class Worker {
 public:
  // Starts the host, which starts the program. Throws std::runtime_error where the host itself cannot be started.
  Worker(const std::string& host, const reward_host::HostOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // For poll; none of them blocks.
  int requests() const { return requests_; }
  int replies() const { return replies_; }
  int reports() const { return reports_; }

  // Sends from the front of `bytes` what can be sent now, and takes it off. False: nobody reads any more.
  bool send(std::string& bytes) const;
  // Appends what has come. False: the end.
  bool receive(std::string& bytes) const;
  // Takes in what the host has said. False: the host is gone.
  bool read_reports();
  const WorkerReport& report() const { return report_; }

  // Waits until the host says that the program has ended by itself; false: it has not after `milliseconds`.
  bool await_end(int milliseconds);
  // Ends the program with all that descends from it and waits until they are gone; what the host said last is in
  // report(). May be called again.
  void end();

 private:
  int requests_ = -1;
  int replies_ = -1;
  int reports_ = -1;
  int control_ = -1;
  pid_t host_ = -1;
  std::string unread_;  // of the report
  WorkerReport report_;
};

}  // namespace rlflow
