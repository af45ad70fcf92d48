// `rlflow gc RUN`: throw away what a run can do without.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/json_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/engine/needed_versions.h"
#include "runtime/store/collection.h"

namespace rlflow {
namespace {

struct GcOptions {
  std::string run;
  std::string runs_dir;
  std::int64_t keep = 1;
  std::int64_t every = 0;
  std::optional<Step> before;
  bool dry_run = false;
  bool json = false;
};

void print_text(const Collection& collection, const std::filesystem::path& run_dir, bool dry_run) {
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>> by_kind;
  for (const CollectedArtifact& artifact : collection.artifacts) {
    ++by_kind[artifact.kind].first;
    by_kind[artifact.kind].second += artifact.bytes;
  }
  Table table{{"kind", "files", "bytes"}, {}, {false, true, true}};
  for (const auto& [kind, sum] : by_kind) {
    table.rows.push_back({kind, std::to_string(sum.first), std::to_string(sum.second)});
  }
  if (!table.rows.empty()) std::cout << to_text(table);
  std::cout << run_dir.string() << "  " << (dry_run ? "would throw away " : "threw away ")
            << counted(static_cast<std::int64_t>(collection.artifacts.size()), "artifact") << " of " << collection.bytes
            << " bytes";
  auto leftovers = static_cast<std::int64_t>(collection.leftovers.size());
  if (leftovers > 0) std::cout << ", and " << counted(leftovers, "file") << " that a killed process left";
  std::cout << "\n";
}

nlohmann::json collection_json(const Collection& collection, const std::filesystem::path& run_dir, bool dry_run) {
  nlohmann::json artifacts = nlohmann::json::array();
  for (const CollectedArtifact& artifact : collection.artifacts) {
    artifacts.push_back({{"digest", hex(artifact.digest)}, {"kind", artifact.kind}, {"bytes", artifact.bytes}});
  }
  nlohmann::json leftovers = nlohmann::json::array();
  for (const auto& path : collection.leftovers) leftovers.push_back(path.string());
  return {{"format", "rlflow.gc/1"}, {"run", run_dir.string()},   {"dry_run", dry_run},
          {"artifacts", artifacts},  {"bytes", collection.bytes}, {"leftovers", leftovers}};
}

ExitCode collect(const GcOptions& options) {
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  const RecordedRun run = RunReader(run_dir).run();
  const Plan plan = recorded_plan(run, {}, nullptr);  // says what a resume still reads
  const StepGraph graph(plan);
  Retention retention{options.keep, options.every, needed_versions(plan, graph, run.committed + 1)};
  PosixFiles disk;
  Collection collection = collect_garbage(disk, run_dir, retention, options.before, options.dry_run);
  if (options.json) {
    print_json(collection_json(collection, run_dir, options.dry_run));
  } else {
    print_text(collection, run_dir, options.dry_run);
  }
  return ExitCode::yes;
}

}  // namespace

Action declare_gc(CLI::App& app, const Session&) {
  auto options = std::make_shared<GcOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_option("--keep", options->keep, "checkpoints that stay, the newest ones")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--every", options->every, "checkpoints of every M-th step stay too")
      ->check(CLI::PositiveNumber)
      ->option_text("M");
  app.add_option("--before", options->before,
                 "throw away outputs of steps before K as well, but for what a resume needs; they cannot be replayed "
                 "any more")
      ->check(CLI::PositiveNumber)
      ->option_text("K");
  app.add_flag("--dry-run", options->dry_run, "say what would go, and change nothing");
  app.add_flag("--json", options->json, "print one JSON object, rlflow.gc/1");
  app.footer(
      app.get_footer() +
      "\nCheckpoints can be made again by redoing updates; what --before throws away cannot. A checkpoint that a "
      "resume would begin with always stays.");
  return [options] { return collect(*options); };
}

}  // namespace rlflow
