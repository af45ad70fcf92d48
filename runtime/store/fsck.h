// Is a store sound? The checks of the rows made at each open, and those of every file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/store/artifact_store.h"
#include "runtime/store/database.h"

namespace rlflow {

// Every problem in the rows, one line each: SQLite's own checks, row sums, finished tasks with their outputs, gapless
// versions and steps, manifests that list what their digest says, a checkpoint of each model that can be restored with
// every update after it. Empty if sound.
std::vector<std::string> check_rows(Database& database);
// Throws StoreError naming the first problem and how many there are.
void require_sound(Database& database);

struct MissingFile {
  Digest digest;
  std::string problem;  // one line with the path
};
// Live artifacts whose file is missing or has another size; `deep`: or other bytes.
std::vector<MissingFile> check_files(Database& database, const ArtifactStore& artifacts, bool deep);

struct FsckReport {
  std::vector<std::string> problems;             // damage, one line each
  std::vector<std::filesystem::path> leftovers;  // of a killed process: harmless, `resume` removes them
  std::vector<std::filesystem::path> strays;     // files that no run makes: harmless, nobody removes them
  std::int64_t holder_pid = 0;                   // a process works on the run: its files in flight are no leftovers
  std::int64_t artifacts = 0;                    // live ones that were looked at
  std::uint64_t bytes = 0;                       // theirs, as recorded
};
// Everything about the run in that folder but its keys, reading only and taking no lock, also while it runs: rows are
// read in one snapshot. `deep` reads each artifact and compares the copy of the program. StoreError R0203 or R0204; a
// database that cannot be read is a problem like the others.
FsckReport fsck(FileLayer& files, const std::filesystem::path& run_dir, bool deep);

}  // namespace rlflow
