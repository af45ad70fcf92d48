// What two runs must have in common if they are the same computation.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/engine/engine.h"
#include "tests/runtime/fake_library.h"
#include "tests/runtime/fake_plan.h"

namespace rlflow::testing {

// ThreadSanitizer reports races inside Debian's oneTBB, which was built without it: there the plain threads stand for
// it.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kTbbRuns = false;
#else
inline constexpr bool kTbbRuns = true;
#endif

// "traj:3/0" → digest of the output, "policy v3" → outcome and weights, "traj:3 key", "traj:3 sum".
std::map<std::string, std::string> trace_of(const std::filesystem::path& run_dir);

RunRequest request_for(const std::filesystem::path& run_dir, bool resume = false);
// Runs or resumes with plain threads unless told otherwise; nobody pauses it.
Outcome run_fake(const Plan& plan, const std::filesystem::path& run_dir, bool resume = false,
                 EngineOptions::Threads threads = EngineOptions::Threads::plain, std::uint64_t seed = 0);
// The same with the caller's library and observer.
Outcome run_with(const Plan& plan, const RunRequest& request, FakeLibrary& library, Recording& recording,
                 EngineOptions options = {});

}  // namespace rlflow::testing
