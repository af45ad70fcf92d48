// What rlflow-reward-host is asked to do: its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rlflow::reward_host {

enum class Wanted {
  best,  // full where the system allows it, else basic
  full,
  basic,
  off,
};

struct HostOptions {
  Wanted sandbox = Wanted::best;
  bool network = false;
  std::string root;                   // absolute; the program's working folder, readable
  std::vector<std::string> hidden;    // absolute; below what is readable and yet not to be read
  std::vector<std::string> readable;  // absolute; read besides the system's folders and the root
  std::string helper;                 // absolute; goes into PYTHONPATH
  std::uint64_t memory_bytes = 0;     // of all its processes together
  std::uint64_t recycle_bytes = 0;    // more than this is reported once
  std::uint64_t output_bytes = 0;     // most that it may print
  std::size_t processes = 0;          // most at once
  std::vector<std::string> command;   // program and arguments
};

// Descriptors that the engine gives the host.
inline constexpr int kControlDescriptor = 3;   // a byte or the end of it: end the worker and leave
inline constexpr int kReportDescriptor = 4;    // worker_report.h goes here
inline constexpr int kRequestsDescriptor = 5;  // the worker's, which sees it as kWorkerRequests
inline constexpr int kRepliesDescriptor = 6;
inline constexpr int kWorkerRequests = 3;
inline constexpr int kWorkerReplies = 4;

// The two directions of one form: `--root PATH … -- PROGRAM ARGUMENTS`. Throws std::runtime_error for another.
std::vector<std::string> to_arguments(const HostOptions& options);
HostOptions from_arguments(const std::vector<std::string>& arguments);

}  // namespace rlflow::reward_host
