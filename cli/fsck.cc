// `rlflow fsck RUN`: is everything that a run recorded there, whole, and what its program gives?
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/json_output.h"
#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/engine/key_check.h"
#include "runtime/store/fsck.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

struct FsckOptions {
  std::string run;
  std::string runs_dir;
  bool deep = false;
  bool json = false;
};

struct Findings {
  FsckReport files;
  std::int64_t keys = 0;  // compared
  std::vector<std::string> notes;
};

// Keys come from the program, so they can be compared where it compiles to what it meant.
void compare_keys(const std::filesystem::path& run_dir, Findings& findings) {
  try {
    Plan plan = recorded_plan(RunReader(run_dir).run(), {}, nullptr);
    KeyReport keys = check_keys(run_dir, plan, prev_init_digest);
    findings.keys = keys.compared;
    std::vector<std::string>& problems = findings.files.problems;
    problems.insert(problems.end(), keys.problems.begin(), keys.problems.end());
  } catch (const StoreError& error) {
    findings.notes.push_back("keys were not compared: " + std::string(error.what()));
  }
}

Findings look(const std::filesystem::path& run_dir, bool deep) {
  Findings findings;
  PosixFiles disk;
  findings.files = fsck(disk, run_dir, deep);
  if (findings.files.problems.empty()) compare_keys(run_dir, findings);
  if (findings.files.holder_pid != 0) {
    findings.notes.push_back("process " + std::to_string(findings.files.holder_pid) +
                             " works on the run: what it has in flight was not looked at");
  }
  return findings;
}

nlohmann::json paths_json(const std::vector<std::filesystem::path>& paths) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::filesystem::path& path : paths) list.push_back(path.string());
  return list;
}

void print_text(const Findings& findings, const std::filesystem::path& run_dir, bool deep) {
  const FsckReport& files = findings.files;
  for (const std::string& problem : files.problems) std::cout << "damaged: " << printable(problem) << "\n";
  for (const auto& path : files.leftovers) {
    std::cout << "left over by a killed process, harmless: " << path.string() << "\n";
  }
  for (const auto& path : files.strays) std::cout << "not of this run, harmless: " << path.string() << "\n";
  for (const std::string& note : findings.notes) std::cout << "note: " << note << "\n";
  auto problems = static_cast<std::int64_t>(files.problems.size());
  std::cout << run_dir.string() << "  " << (problems == 0 ? "sound" : counted(problems, "problem"));
  if (problems == 0) {
    std::cout << ": " << counted(files.artifacts, "artifact") << " of " << files.bytes << " bytes, "
              << (deep ? "every byte read" : "sizes compared (--deep reads every byte)") << "; "
              << counted(findings.keys, "key") << " recomputed";
  }
  std::cout << "\n";
}

ExitCode check_run(const FsckOptions& options) {
  const std::filesystem::path run_dir = find_run(options.run, runs_folder(options.runs_dir));
  const Findings findings = look(run_dir, options.deep);
  const FsckReport& files = findings.files;
  if (options.json) {
    print_json({{"format", "rlflow.fsck/1"},
                {"run", run_dir.string()},
                {"sound", files.problems.empty()},
                {"deep", options.deep},
                {"problems", files.problems},
                {"leftovers", paths_json(files.leftovers)},
                {"strays", paths_json(files.strays)},
                {"notes", findings.notes},
                {"holder_pid", files.holder_pid},
                {"artifacts", files.artifacts},
                {"bytes", files.bytes},
                {"keys", findings.keys}});
  } else {
    print_text(findings, run_dir, options.deep);
  }
  return files.problems.empty() ? ExitCode::yes : ExitCode::store_damaged;
}

}  // namespace

Action declare_fsck(CLI::App& app, const Session&) {
  auto options = std::make_shared<FsckOptions>();
  add_run_argument(app, options->run, options->runs_dir);
  app.add_flag("--deep", options->deep, "read every artifact and compare its SHA-256");
  app.add_flag("--json", options->json, "print one JSON object, rlflow.fsck/1");
  app.footer(app.get_footer() +
             "\nReads only, and takes no lock. Exit code 0: sound; 4: damaged; 2: there is no such run.");
  return [options] { return check_run(*options); };
}

}  // namespace rlflow
