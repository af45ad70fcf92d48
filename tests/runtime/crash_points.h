// At which points can a run die? Every failpoint and every operation on the disk, counted in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/contract/plan.h"
#include "runtime/contract/run_api.h"
#include "runtime/store/file_layer.h"

namespace rlflow::testing {

// Runs or resumes in one thread, so that the points of two equal runs are the same, and returns their names.
std::vector<std::string> points_of(const Plan& plan, const std::filesystem::path& run_dir, bool resume);

// The same in a child process that dies by SIGKILL at point `number`, counted from 1. True if it died there, false if
// it came to its end before.
bool die_at(const Plan& plan, const std::filesystem::path& run_dir, bool resume, std::int64_t number);

// The same of any work on the disk below `base`.
using Work = std::function<Outcome(FileLayer&)>;
std::vector<std::string> points_of(const std::filesystem::path& base, const Work& work);
bool die_at(const std::filesystem::path& base, const Work& work, std::int64_t number);

// Begins the run where there is none, resumes it otherwise, and returns what is wrong with it then: it did not end
// well, its trace is not that of the `whole` run, fsck --deep finds something. Empty if all is well.
std::string go_on_and_compare(const Plan& plan, const std::filesystem::path& run_dir,
                              const std::map<std::string, std::string>& whole);
// The same of a run that has ended.
std::string wrong_at_end(const std::filesystem::path& run_dir, const std::map<std::string, std::string>& whole);

void copy_folder(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace rlflow::testing
