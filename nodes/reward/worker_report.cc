// How records of a worker's report are written and read.
#include "nodes/reward/worker_report.h"

#include <charconv>
#include <stdexcept>

namespace rlflow {
namespace {

void take_record(std::string_view word, std::string_view text, WorkerReport& report) {
  if (word == "full" || word == "basic" || word == "off") {
    report.started = true;
    report.tier = word == "full" ? SandboxTier::full : word == "basic" ? SandboxTier::basic : SandboxTier::off;
    report.weaker = text;
  } else if (word == "refused") {
    report.refused = text;
  } else if (word == "large") {
    report.large = true;
  } else if (word == "ended") {
    report.ended = text;
  } else if (word == "out") {
    report.out = text;
  } else if (word == "err") {
    report.err = text;
  } else {
    throw std::runtime_error("the reward host sent a record `" + std::string(word) + "`");
  }
}

}  // namespace

std::string report_record(std::string_view word, std::string_view text) {
  return std::string(word) + " " + std::to_string(text.size()) + "\n" + std::string(text);
}

void read_records(std::string& bytes, WorkerReport& report) {
  for (;;) {
    const std::size_t line = bytes.find('\n');
    if (line == std::string::npos) return;
    const std::size_t space = bytes.find(' ');
    std::size_t length = 0;
    const char* end = bytes.data() + line;
    if (space > line || std::from_chars(bytes.data() + space + 1, end, length).ptr != end) {
      throw std::runtime_error("the reward host sent no record");
    }
    if (bytes.size() - line - 1 < length) return;
    take_record(std::string_view(bytes).substr(0, space), std::string_view(bytes).substr(line + 1, length), report);
    bytes.erase(0, line + 1 + length);
  }
}

}  // namespace rlflow
