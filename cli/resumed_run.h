// Goes on with a recorded run while a console watches: what `resume` and `retry` share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/watched_run.h"

namespace rlflow {

ExitCode resumed_run(const std::filesystem::path& run_dir, const std::vector<std::string>& overrides,
                     const WatchOptions& watch, const Session& session);

}  // namespace rlflow
