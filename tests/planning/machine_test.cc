// Are machine files read strictly, and is a machine found?
#include <gtest/gtest.h>

#include "cli/planning/found_machine.h"
#include "nodes/format/machine.h"

namespace rlflow::testing {
namespace {

std::string fault_of(const std::string& json) {
  try {
    parse_machine(json, "m.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

std::string machine(const std::string& rest) { return R"({"format": "rlflow.machine/1", )" + rest + "}"; }

const std::string kCpu = R"("cpu": {"cores": 4, "memory_bytes": 1024})";

TEST(MachineFile, IsReadWithAllItsKeys) {
  Cluster cluster = parse_machine(
      machine(R"("name": "box", "cpu": {"cores": 4, "memory_bytes": 1024, "flops_a_core": 2, "memory_bandwidth": 3},
                 "gpus": [{"count": 2, "name": "A", "memory_bytes": 10, "flops": 4, "flops_f32": 5,
                           "memory_bandwidth": 6, "link_bandwidth": 7, "host_bandwidth": 8},
                          {"name": "B", "memory_bytes": 20}])"),
      "m.json");
  EXPECT_EQ(cluster.name, "box");
  EXPECT_EQ(cluster.cpu_threads, 4);
  EXPECT_EQ(cluster.memory_bytes, 1024u);
  EXPECT_EQ(cluster.flops_a_thread, 2);
  EXPECT_EQ(cluster.memory_bandwidth, 3);
  ASSERT_EQ(cluster.gpus.size(), 3u);
  EXPECT_EQ(cluster.gpus[1].name, "A");
  EXPECT_EQ(cluster.gpus[1].flops, 4);
  EXPECT_EQ(cluster.gpus[1].flops_f32, 5);
  EXPECT_EQ(cluster.gpus[1].memory_bandwidth, 6);
  EXPECT_EQ(cluster.gpus[1].link_bandwidth, 7);
  EXPECT_EQ(cluster.gpus[1].host_bandwidth, 8);
  EXPECT_EQ(cluster.gpus[2].memory_bytes, 20u);
  EXPECT_EQ(parse_machine(machine(kCpu), "m.json").name, "m.json");
}

TEST(MachineFile, FaultsNameTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"{", "not valid JSON"},
      {"[]", "it is not an object"},
      {"{}", "there is no format"},
      {R"({"format": "rlflow.machine/2"})", R"(format is "rlflow.machine/2", this version reads "rlflow.machine/1")"},
      {machine(R"("cores": 3)"), "cores is not known; the keys of the file are format, name, cpu, gpus"},
      {machine(R"("name": "x")"), "there is no cpu"},
      {machine(R"("cpu": 3)"), "cpu is not an object"},
      {machine(R"("cpu": {"cores": 4})"), "there is no cpu.memory_bytes"},
      {machine(R"("cpu": {"cores": 4, "memory": 5})"), "cpu.memory is not known; the keys of cpu are cores"},
      {machine(R"("cpu": {"cores": -4, "memory_bytes": 5})"), "cpu.cores is -4, it must be a whole number from 1"},
      {machine(kCpu + R"(, "gpus": 8)"), "gpus is 8, it must be a list"},
      {machine(kCpu + R"(, "gpus": [{"name": "A"}])"), "there is no gpus[0].memory_bytes"},
      {machine(kCpu + R"(, "gpus": [{"name": "A", "memory_bytes": 1, "flops": "fast"}])"),
       R"(gpus[0].flops is "fast", it must be a number above 0, a second)"},
  };
  for (const auto& [json, text] : faults) {
    EXPECT_NE(fault_of(json).find(text), std::string::npos) << json << "\n" << fault_of(json);
    EXPECT_TRUE(fault_of(json).starts_with("machine file m.json: ")) << fault_of(json);
  }
}

TEST(MachineFile, DefaultsFillOnlyWhatIsNotGivenAndSayTheirSource) {
  Cluster cluster =
      parse_machine(machine(R"("cpu": {"cores": 4, "memory_bytes": 1024, "flops_a_core": 2, "memory_bandwidth": 3},
                 "gpus": [{"name": "NVIDIA H200", "memory_bytes": 10, "flops": 4}, {"name": "B", "memory_bytes": 20}])"),
                    "m.json");
  std::vector<RateSource> used = add_default_rates(cluster);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].device, "H200");
  EXPECT_EQ(cluster.flops_a_thread, 2);
  EXPECT_EQ(cluster.gpus[0].flops, 4);
  EXPECT_EQ(cluster.gpus[0].memory_bandwidth, 4.54e12);
  EXPECT_EQ(cluster.gpus[1].flops, 0);  // not known, so not estimated
}

TEST(MachineFile, TheExamplesAreRight) {
  const std::string folder = std::string(RLFLOW_SOURCE_DIR) + "/pipelines/machines/";
  EXPECT_EQ(read_machine(folder + "h200x8.json").gpus.size(), 8u);
  EXPECT_EQ(read_machine(folder + "h200.json").gpus.size(), 1u);
  EXPECT_EQ(read_machine(folder + "laptop.json").gpus.size(), 0u);
  EXPECT_THROW(read_machine(folder + "absent.json"), FormatError);
}

TEST(FoundMachine, HasThreadsAndMemory) {
  Cluster cluster = find_machine();
  EXPECT_GE(cluster.cpu_threads, 1);
  EXPECT_GT(cluster.memory_bytes, 1u << 20);
}

TEST(FoundMachine, TheListOfGpusIsReadOrRefusedWhole) {
  auto gpus = parse_gpu_list("NVIDIA H200, 143771\nNVIDIA RTX A6000, 49140\n");
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[0].name, "NVIDIA H200");
  EXPECT_EQ((*gpus)[0].memory_bytes, 150'754'820'096u);
  EXPECT_EQ(parse_gpu_list("")->size(), 0u);
  EXPECT_FALSE(parse_gpu_list("NVIDIA-SMI has failed because it could not reach the driver"));
  EXPECT_FALSE(parse_gpu_list("NVIDIA H200, [N/A]\n"));
}

}  // namespace
}  // namespace rlflow::testing
