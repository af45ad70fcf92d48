// libFuzzer's entry: any bytes are a program. Built by clang with `cmake --preset fuzz`; `./dev test` runs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nodes/signatures/catalog.h"
#include "tests/fuzz/properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rlflow::Catalog kCatalog = rlflow::catalog();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string fault = rlflow::testing::broken_property(text, kCatalog);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "broken property: %s\n", fault.c_str());
  std::abort();
}
