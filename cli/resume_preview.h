// `rlflow resume RUN --dry-run`: what would be reused, what run again, and why?
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace rlflow {

ExitCode show_preview(const std::filesystem::path& run_dir, const std::vector<std::string>& overrides, bool json);

}  // namespace rlflow
