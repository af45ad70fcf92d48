// What machine is this? Found without CUDA: from /proc, the control group, and nvidia-smi where it is there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/cluster.h"

namespace rlflow {

// Threads this process may use, memory it may take (the smaller of the machine's and its control group's), and the
// GPUs that nvidia-smi lists; none where it is absent, fails, or takes longer than 5 seconds.
Cluster find_machine();

// The GPUs in what `nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits` prints; nothing where a
// line cannot be read.
std::optional<std::vector<Gpu>> parse_gpu_list(std::string_view text);

// The file at `path`, or this machine where the path is empty. Rates that are not known come from the table in
// nodes/format/machine.cc; `rate_sources` says which rows were used. Throws FormatError.
struct Machine {
  Cluster cluster;
  std::string origin;  // "pipelines/machines/h200.json", "found here"
  std::vector<std::string> rate_sources;
};
Machine machine_of(const std::string& path);

}  // namespace rlflow
