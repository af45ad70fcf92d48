// How much is a test to try? `./dev test` says it in RLFLOW_TEST_SIZE: quick, default or long.
#pragma once

namespace rlflow::testing {

bool long_size();  // false where nothing is said

}  // namespace rlflow::testing
