// Do estimates agree with figures worked out elsewhere?
#include "cli/planning/plan_time.h"

#include <gtest/gtest.h>

namespace rlflow::testing {
namespace {

// Qwen2.5-0.5B on 4.3 TB/s with a context of 384: 0.231 ms for one sequence, 0.300 ms for 64.
TEST(Time, ADecodeStepIsBoundByMemory) {
  ModelConfig shape;
  shape.vocab_size = 151'936, shape.hidden_size = 896, shape.intermediate_size = 4864, shape.layers = 24;
  shape.heads = 14, shape.kv_heads = 2, shape.head_dim = 64;
  EXPECT_NEAR(decode_step_seconds(shape, 1, 384, 2, 7.75e14, 4.3e12), 0.231e-3, 0.001e-3);
  EXPECT_NEAR(decode_step_seconds(shape, 64, 384, 2, 7.75e14, 4.3e12), 0.300e-3, 0.001e-3);
}

}  // namespace
}  // namespace rlflow::testing
