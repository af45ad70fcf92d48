// Looks upwards from a program for the mark of its project.
#include "compiler/project_root.h"

#include <filesystem>

namespace rlflow {

std::optional<std::string> project_root_above(const std::string& program) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = (fs::current_path(error) / program).lexically_normal().parent_path();
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", error) || fs::exists(at / "rlflow.toml", error)) return at.string();
    if (at == at.root_path()) break;
  }
  return std::nullopt;
}

}  // namespace rlflow
