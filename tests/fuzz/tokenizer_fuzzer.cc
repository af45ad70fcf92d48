// libFuzzer's entry: a tokenizer.json, a zero byte, a text. Built by clang with `cmake --preset fuzz`; `./dev test`
// runs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/tokenizer_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string fault =
      rlflow::testing::broken_tokenizer_property(std::string(reinterpret_cast<const char*>(data), size));
  if (fault.empty()) return 0;
  std::fprintf(stderr, "broken property: %s\n", fault.c_str());
  std::abort();
}
