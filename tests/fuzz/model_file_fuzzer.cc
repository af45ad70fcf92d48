// libFuzzer's entry: any bytes are a config.json and a safetensors file. Built by clang with `cmake --preset fuzz`;
// `./dev test` runs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/model_file_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& fault :
       {rlflow::testing::broken_config_property(bytes), rlflow::testing::broken_safetensors_property(bytes)}) {
    if (fault.empty()) continue;
    std::fprintf(stderr, "broken property: %s\n", fault.c_str());
    std::abort();
  }
  return 0;
}
