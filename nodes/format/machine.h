// What a machine file says: the devices that a program is checked and planned against, and their rates.
//
// Format rlflow.machine/1, a JSON object; keys in [ ] may be absent, and no others are allowed:
//   {"format": "rlflow.machine/1",
//    ["name": "8 x H200"],                            what messages call it; else the file's path
//    "cpu": {"cores": 128, "memory_bytes": 601295421440,
//            ["flops_a_core": 9.0e10],                f32 matrix products reached, a second
//            ["memory_bandwidth": 2.4e10]},           bytes a second
//    ["gpus": [{["count": 8],                         that many of the kind, one if absent
//               "name": "NVIDIA H200", "memory_bytes": 150754820096,
//               ["flops": 6.9e14], ["flops_f32": …],  matrix products reached in bf16 and f32, a second
//               ["memory_bandwidth": 4.54e12],        bytes a second, read
//               ["link_bandwidth": 3.6e11],           to another GPU, one way
//               ["host_bandwidth": 5.0e10]}]]}        to host memory, one way
// Devices are numbered in the order of the list. Rates that are absent come from the table of default_rates.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"
#include "runtime/contract/cluster.h"

namespace rlflow {

// Throws FormatError that names the place in the object ("gpus[0].memory_bytes") and what it should be.
// `what` names the file in messages.
Cluster parse_machine(std::string_view json, const std::string& what);
Cluster read_machine(const std::filesystem::path& path);

// Where the rates of a table row come from.
struct RateSource {
  std::string device;  // "NVIDIA H200", "cpu"
  std::string source;
};
// Fills the rates that are 0 from the one table of defaults, by the GPU's name. Returns the rows used.
std::vector<RateSource> add_default_rates(Cluster& cluster);

}  // namespace rlflow
