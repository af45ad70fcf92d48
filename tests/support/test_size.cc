// The size of tests.
#include "tests/support/test_size.h"

#include <cstdlib>
#include <string_view>

namespace rlflow::testing {

bool long_size() {
  const char* size = std::getenv("RLFLOW_TEST_SIZE");
  return size != nullptr && std::string_view(size) == "long";
}

}  // namespace rlflow::testing
