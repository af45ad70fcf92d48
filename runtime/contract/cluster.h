// The devices of a machine: what placement needs of them, and the rates that estimates are made with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rlflow {

// Rates are best what programs reach rather than what a data sheet promises; 0: not known.
struct Gpu {
  std::string name;
  std::uint64_t memory_bytes = 0;
  double flops = 0;             // matrix products in bf16, multiplications and additions a second
  double flops_f32 = 0;         // the same in f32
  double memory_bandwidth = 0;  // bytes a second, its own memory
  double link_bandwidth = 0;    // bytes a second, one way, to another GPU of the machine
  double host_bandwidth = 0;    // bytes a second, one way, to host memory
};

struct Cluster {
  std::string name = "this machine";  // as messages call it
  std::int32_t cpu_threads = 1;       // hardware threads this process may use
  std::uint64_t memory_bytes = 0;     // host memory; 0: not known
  double flops_a_thread = 0;          // matrix products in f32, one thread
  double memory_bandwidth = 0;        // bytes a second, host memory
  std::vector<Gpu> gpus;
};

}  // namespace rlflow
