// RLFLOW_CHECK: a programmer's mistake ends the process, naming the condition and its place.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace rlflow {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  std::fprintf(stderr, "rlflow: internal error at %s:%d: %s %s\n", file, line, condition, detail.c_str());
  std::abort();
}

}  // namespace rlflow

// `detail` is any expression that makes a std::string; evaluated only on failure.
#define RLFLOW_CHECK(condition, detail)                                                 \
  do {                                                                                  \
    if (!(condition)) ::rlflow::check_failed(#condition, __FILE__, __LINE__, (detail)); \
  } while (false)
