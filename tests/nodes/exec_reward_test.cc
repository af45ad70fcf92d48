// Do programs as judges keep their promises: matching by id, retries, batches, recycling, the Python helper, examples?
#include "nodes/reward/exec_reward.h"

#include <gmock/gmock.h>

namespace rlflow::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Which sandbox does not matter here; basic needs least of the system.
const Attributes kBasic = {{"sandbox", Word{"basic"}}};

}  // namespace
}  // namespace rlflow::testing
