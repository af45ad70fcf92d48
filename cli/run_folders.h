// Where do runs live, and which one does a name mean?
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace rlflow {

// Nearest folder at or above `start` (a file or folder) that holds `.git` or `rlflow.toml`, else the working directory.
std::filesystem::path project_root(const std::filesystem::path& start);

// `--runs-dir` as given, or `runs` below the project root of the working directory.
std::filesystem::path runs_folder(const std::string& given);

// The folder of a run: its name below the runs folder, a path to it, or `@last` for the newest.
// Throws StoreError (exit 2) that lists close names where there is no such run.
std::filesystem::path find_run(const std::string& name, const std::filesystem::path& runs);

// "<flow>-<two words>" that is not taken yet below `runs`.
std::string new_run_name(const std::string& flow, const std::filesystem::path& runs, std::uint64_t entropy);

// Adds RUN, required, and `--runs-dir`.
void add_run_argument(CLI::App& app, std::string& run, std::string& runs_dir);
// Adds `--name`, of a new run.
void add_name_option(CLI::App& app, std::string& name);
// Adds `--runs-dir`.
void add_runs_option(CLI::App& app, std::string& runs_dir);

}  // namespace rlflow
