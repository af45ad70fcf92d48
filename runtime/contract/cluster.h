// The devices of a machine, as far as placement needs them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rlflow {

struct Gpu {
  std::string name;
  std::uint64_t memory_bytes = 0;
};

struct Cluster {
  std::int32_t cpu_threads = 1;    // hardware threads this process may use
  std::uint64_t memory_bytes = 0;  // host memory
  std::vector<Gpu> gpus;
};

}  // namespace rlflow
