// Which folder is the project that a program belongs to?
#pragma once

#include <optional>
#include <string>

namespace rlflow {

// The nearest folder above the program that holds `.git` or `rlflow.toml`, absolute; nullopt where there is none.
std::optional<std::string> project_root_above(const std::string& program);

}  // namespace rlflow
