// /proc/meminfo, the control group's limit, and nvidia-smi as a child process.
#include "cli/planning/found_machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "nodes/format/machine.h"

namespace rlflow {
namespace {

constexpr const char* kListGpus =
    "command -v nvidia-smi >/dev/null && "
    "timeout 5 nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits 2>/dev/null";

std::uint64_t memory_of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemTotal:") return kibibytes * 1024;
    file.ignore(1000, '\n');
  }
  return 0;
}

// 0 where there is no limit ("max").
std::uint64_t memory_of_control_group() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : 0;
}

std::int32_t usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

std::vector<Gpu> gpus_here() {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(kListGpus, "r"), pclose);
  if (!pipe) return {};
  std::string text;
  char buffer[4096];
  while (std::size_t read = fread(buffer, 1, sizeof buffer, pipe.get())) text.append(buffer, read);
  return parse_gpu_list(text).value_or(std::vector<Gpu>());
}

}  // namespace

std::optional<std::vector<Gpu>> parse_gpu_list(std::string_view text) {
  std::vector<Gpu> gpus;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    std::size_t comma = line.rfind(',');
    if (comma == std::string::npos) return std::nullopt;
    std::istringstream number(line.substr(comma + 1));
    std::uint64_t mebibytes = 0;
    if (!(number >> mebibytes) || mebibytes == 0) return std::nullopt;
    Gpu gpu;
    gpu.name = line.substr(0, comma);
    gpu.memory_bytes = mebibytes << 20;
    gpus.push_back(gpu);
  }
  return gpus;
}

Cluster find_machine() {
  Cluster cluster;
  cluster.cpu_threads = usable_threads();
  cluster.memory_bytes = memory_of_machine();
  if (std::uint64_t limit = memory_of_control_group(); limit > 0) {
    cluster.memory_bytes = cluster.memory_bytes == 0 ? limit : std::min(cluster.memory_bytes, limit);
  }
  cluster.gpus = gpus_here();
  return cluster;
}

Machine machine_of(const std::string& path) {
  Machine machine;
  machine.cluster = path.empty() ? find_machine() : read_machine(path);
  machine.origin = path.empty() ? "found here" : "from " + path;
  for (const RateSource& row : add_default_rates(machine.cluster)) {
    machine.rate_sources.push_back(row.device + ": " + row.source);
  }
  return machine;
}

}  // namespace rlflow
