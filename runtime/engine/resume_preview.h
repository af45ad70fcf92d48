// What would a resume do? Each recorded task after the last committed step: reused or run again, and why.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/engine/key_check.h"
#include "runtime/store/task_name.h"

namespace rlflow {

struct PlannedTask {
  TaskName task;
  enum class Fate { reuse, redo, drop, refuse } fate = Fate::redo;
  std::string why;
};
struct PlannedModel {
  std::string model;
  Version from = 0;  // its checkpoint; 0: the source files
  Version head = 0;  // updates from + 1 … head are done again
};
struct ResumePreview {
  Step committed = 0;
  Step begun = 0;  // the last step of which tasks are recorded; later ones are all to do
  Step total = 0;
  std::vector<PlannedTask> tasks;
  std::vector<PlannedModel> models;
};
// Reads only, takes no lock, runs nothing. Files are looked at by size, not read.
ResumePreview preview_resume(const std::filesystem::path& run_dir, const Plan& plan, const InitDigest& init_digest);

}  // namespace rlflow
