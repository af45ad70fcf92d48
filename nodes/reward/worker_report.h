// What rlflow-reward-host tells the engine of a worker: records of a word, a length and as many bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rlflow {

enum class SandboxTier { full, basic, off };

constexpr const char* tier_name(SandboxTier tier) {
  return tier == SandboxTier::full ? "full" : tier == SandboxTier::basic ? "basic" : "off";
}

// Everything known so far. The host sends `tier` or `refused` first, `large` when the worker's memory passes the mark
// for recycling, `ended` and what was printed last.
struct WorkerReport {
  bool started = false;
  SandboxTier tier = SandboxTier::full;
  std::string weaker;   // basic: why not full, and what it does not guarantee; empty where basic was asked for
  std::string refused;  // why no worker was started; then nothing follows
  bool large = false;
  std::string ended;  // "it exited with status 1", "it was ended by signal 11 (…)"; empty while it runs
  std::string out;    // the last of what it printed
  std::string err;
};

// One record: "word length\nbytes".
std::string report_record(std::string_view word, std::string_view text);

// Takes whole records off the front of `bytes` and into `report`. Throws std::runtime_error where they are none.
void read_records(std::string& bytes, WorkerReport& report);

}  // namespace rlflow
