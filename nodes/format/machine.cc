// JSON of a machine file -> devices and rates, strictly; and the table of rates where the file has none.
#include "nodes/format/machine.h"

#include <algorithm>

#include "nodes/format/file.h"
#include "nodes/format/json.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxMachineBytes = 1u << 20;
constexpr std::int64_t kMostGpus = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr const char* kFormat = "rlflow.machine/1";

// One object of the file and its place in it, for messages.
struct Place {
  const Json& object;
  std::string path;  // "cpu", "gpus[0]"; empty for the whole

  std::string of(const std::string& key) const { return path.empty() ? key : path + "." + key; }
};

void check_keys(const Place& place, const std::vector<std::string>& known) {
  const std::string where = place.path.empty() ? "the file" : place.path;
  if (!place.object.is_object()) throw FormatError(where + " is not an object");
  for (const auto& item : place.object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    std::string list;
    for (const std::string& key : known) list += (list.empty() ? "" : ", ") + key;
    throw FormatError(place.of(item.key()) + " is not known; the keys of " + where + " are " + list);
  }
}

std::int64_t whole(const Place& place, const char* key, std::int64_t most, std::int64_t fallback = 0) {
  auto found = place.object.find(key);
  if (found == place.object.end()) {
    if (fallback > 0) return fallback;
    throw FormatError("there is no " + place.of(key));
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() == 0 ||
      found->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    throw FormatError(place.of(key) + " is " + found->dump().substr(0, 80) + ", it must be a whole number from 1 to " +
                      std::to_string(most));
  }
  return found->get<std::int64_t>();
}

double rate(const Place& place, const char* key) {
  auto found = place.object.find(key);
  if (found == place.object.end()) return 0;
  if (!found->is_number() || !(found->get<double>() > 0) || found->get<double>() > 1e24) {
    throw FormatError(place.of(key) + " is " + found->dump().substr(0, 80) + ", it must be a number above 0, a second");
  }
  return found->get<double>();
}

std::string text(const Place& place, const char* key) {
  auto found = place.object.find(key);
  if (found == place.object.end()) throw FormatError("there is no " + place.of(key));
  if (!found->is_string() || found->get<std::string>().empty()) {
    throw FormatError(place.of(key) + " is " + found->dump().substr(0, 80) + ", it must be a text");
  }
  return found->get<std::string>();
}

void add_gpus(const Place& place, std::vector<Gpu>& gpus) {
  check_keys(place, {"count", "name", "memory_bytes", "flops", "flops_f32", "memory_bandwidth", "link_bandwidth",
                     "host_bandwidth"});
  Gpu gpu;
  gpu.name = text(place, "name");
  gpu.memory_bytes = static_cast<std::uint64_t>(whole(place, "memory_bytes", kMostBytes));
  gpu.flops = rate(place, "flops");
  gpu.flops_f32 = rate(place, "flops_f32");
  gpu.memory_bandwidth = rate(place, "memory_bandwidth");
  gpu.link_bandwidth = rate(place, "link_bandwidth");
  gpu.host_bandwidth = rate(place, "host_bandwidth");
  gpus.insert(gpus.end(), static_cast<std::size_t>(whole(place, "count", kMostGpus, 1)), gpu);
}

Cluster machine_of(const Json& root, const std::string& what) {
  const Place place{root, ""};
  if (!root.is_object()) throw FormatError("it is not an object");
  if (text(place, "format") != kFormat) {
    throw FormatError("format is " + root["format"].dump().substr(0, 80) + ", this version reads \"" + kFormat + "\"");
  }
  check_keys(place, {"format", "name", "cpu", "gpus"});
  Cluster cluster;
  cluster.name = root.contains("name") ? text(place, "name") : what;
  if (!root.contains("cpu")) throw FormatError("there is no cpu");
  const Place cpu{root["cpu"], "cpu"};
  check_keys(cpu, {"cores", "memory_bytes", "flops_a_core", "memory_bandwidth"});
  cluster.cpu_threads = static_cast<std::int32_t>(whole(cpu, "cores", 1 << 16));
  cluster.memory_bytes = static_cast<std::uint64_t>(whole(cpu, "memory_bytes", kMostBytes));
  cluster.flops_a_thread = rate(cpu, "flops_a_core");
  cluster.memory_bandwidth = rate(cpu, "memory_bandwidth");
  if (!root.contains("gpus")) return cluster;
  const Json& gpus = root["gpus"];
  if (!gpus.is_array()) throw FormatError("gpus is " + gpus.dump().substr(0, 80) + ", it must be a list");
  for (std::size_t i = 0; i < gpus.size(); ++i) add_gpus({gpus[i], "gpus[" + std::to_string(i) + "]"}, cluster.gpus);
  return cluster;
}

// The one table of default rates. Each row names its source.
struct DefaultRates {
  const char* name;  // a part of the GPU's name
  Gpu rates;
  const char* source;
};
const std::vector<DefaultRates>& gpu_rates() {
  static const std::vector<DefaultRates> table = {
      {"H200",
       {"", 0, 6.91e14, 6.7e13, 4.54e12, 3.63e11, 6.4e10},
       "bf16 products 691 TFLOP/s, memory read 4.54 TB/s and NCCL broadcast 363 GB/s as measured; "
       "f32 67 TFLOP/s and PCIe 64 GB/s from data sheets"},
  };
  return table;
}
constexpr double kCpuFlopsAThread = 9.0e10;
constexpr double kCpuBandwidth = 2.4e10;
constexpr const char* kCpuSource =
    "f32 products 90 GFLOP/s a thread and memory read 24 GB/s, as measured on two cores with AVX2";

void fill(double& rate, double measured, bool& used) {
  if (rate > 0) return;
  rate = measured;
  used = true;
}

}  // namespace

Cluster parse_machine(std::string_view json, const std::string& what) {
  try {
    return machine_of(parse_json(json, "it"), what);
  } catch (const FormatError& error) {
    throw FormatError("machine file " + what + ": " + error.what());
  }
}

Cluster read_machine(const std::filesystem::path& path) {
  return parse_machine(read_text_file(path, kMaxMachineBytes), path.string());
}

std::vector<RateSource> add_default_rates(Cluster& cluster) {
  std::vector<RateSource> used;
  bool cpu = false;
  fill(cluster.flops_a_thread, kCpuFlopsAThread, cpu);
  fill(cluster.memory_bandwidth, kCpuBandwidth, cpu);
  if (cpu) used.push_back({"cpu", kCpuSource});
  for (const DefaultRates& row : gpu_rates()) {
    bool any = false;
    for (Gpu& gpu : cluster.gpus) {
      if (gpu.name.find(row.name) == std::string::npos) continue;
      fill(gpu.flops, row.rates.flops, any);
      fill(gpu.flops_f32, row.rates.flops_f32, any);
      fill(gpu.memory_bandwidth, row.rates.memory_bandwidth, any);
      fill(gpu.link_bandwidth, row.rates.link_bandwidth, any);
      fill(gpu.host_bandwidth, row.rates.host_bandwidth, any);
    }
    if (any) used.push_back({row.name, row.source});
  }
  return used;
}

}  // namespace rlflow
