// Names of runs and the folders they stand for.
#include "cli/run_folders.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "compiler/names.h"
#include "runtime/store/run_reader.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

constexpr std::array kAdjectives = {"amber", "brave", "calm",  "clear",  "early", "fair",   "fleet",  "gentle",
                                    "green", "hardy", "keen",  "light",  "lucid", "merry",  "modest", "noble",
                                    "plain", "quick", "quiet", "silver", "sober", "steady", "swift",  "tidy",
                                    "true",  "vivid", "warm",  "wide",   "wise",  "witty",  "young",  "bright"};
constexpr std::array kNouns = {"anchor",  "beacon", "birch",  "brook",  "canyon",  "cedar",  "comet", "coral",
                               "delta",   "ember",  "falcon", "fern",   "finch",   "harbor", "heron", "island",
                               "lantern", "lark",   "maple",  "meadow", "otter",   "pebble", "pine",  "prairie",
                               "quartz",  "raven",  "reef",   "river",  "sparrow", "summit", "tide",  "willow"};

StoreError no_run(const std::string& name, const fs::path& runs, const std::vector<RunSummary>& all) {
  std::vector<std::string> names;
  for (const RunSummary& run : all) names.push_back(run.name);
  std::vector<std::string> close = close_names(name, names);
  std::string help = "`runs` lists what there is";
  if (!close.empty()) help = "did you mean " + quoted_list(close) + "?";
  if (names.empty()) help = "a run is made by `run FILE`; another place is named by --runs-dir";
  return StoreError(ExitCode::could_not_answer, "R0203", "there is no run `" + name + "` in " + runs.string(), help);
}

}  // namespace

fs::path project_root(const fs::path& start) {
  std::error_code ignored;
  fs::path at = fs::weakly_canonical(fs::absolute(start), ignored);
  if (!fs::is_directory(at, ignored)) at = at.parent_path();
  for (;; at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored) || fs::exists(at / "rlflow.toml", ignored)) return at;
    if (at == at.root_path()) return fs::current_path();
  }
}

fs::path runs_folder(const std::string& given) {
  if (!given.empty()) return given;
  fs::path folder = project_root(fs::current_path()) / "runs";
  fs::path relative = folder.lexically_relative(fs::current_path());
  return relative.empty() || relative.string().starts_with("..") ? folder : relative;
}

fs::path find_run(const std::string& name, const fs::path& runs) {
  std::vector<RunSummary> all = list_runs(runs);
  if (name == "@last") {
    if (all.empty()) throw no_run(name, runs, all);
    return all.front().path;
  }
  std::error_code ignored;
  if (fs::exists(runs / name / "state.db", ignored)) return runs / name;
  if (fs::exists(fs::path(name) / "state.db", ignored)) return name;
  throw no_run(name, runs, all);
}

std::string new_run_name(const std::string& flow, const fs::path& runs, std::uint64_t entropy) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;  // walks all pairs in a scattered order
  for (std::uint64_t attempt = 0;; ++attempt) {
    std::uint64_t pick = (entropy + attempt * kStep) >> 20;
    std::string name =
        flow + "-" + kAdjectives[pick % kAdjectives.size()] + "-" + kNouns[pick / kAdjectives.size() % kNouns.size()];
    if (attempt >= kAdjectives.size() * kNouns.size()) name += "-" + std::to_string(attempt);
    if (!fs::exists(runs / name)) return name;
  }
}

void add_run_argument(CLI::App& app, std::string& run, std::string& runs_dir) {
  app.add_option("run", run, "name of the run, a path to it, or @last")->required();
  add_runs_option(app, runs_dir);
}

void add_name_option(CLI::App& app, std::string& name) {
  app.add_option("--name", name, "name of the run (default: the flow's name and two words)")
      ->option_text("NAME")
      ->check([](const std::string& given) {
        bool fine = !given.empty() && given[0] != '.' && given[0] != '@' && given.find('/') == std::string::npos;
        return fine ? std::string() : "a run's name has no slash and does not begin with `.` or `@`";
      });
}

void add_runs_option(CLI::App& app, std::string& runs_dir) {
  app.add_option("--runs-dir", runs_dir, "the folder of the runs (default: runs/ in the project)")->option_text("DIR");
}

}  // namespace rlflow
