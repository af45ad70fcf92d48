// The files of a store against its rows.
#include "runtime/store/fsck.h"

#include <algorithm>
#include <set>

#include "runtime/store/bundle_rows.h"
#include "runtime/store/leftovers.h"
#include "runtime/store/migration.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

std::string deep_problem(const ArtifactStore& artifacts, const Digest& digest) {
  try {
    artifacts.get(digest);
    return {};
  } catch (const StoreError& error) {
    return error.what();
  }
}

std::string problem_of(const ArtifactStore& artifacts, const Digest& digest, std::uint64_t bytes, bool deep) {
  std::string file = "artifact `" + artifacts.path(digest).string() + "`";
  auto size = artifacts.size(digest);
  if (!size) return file + " is missing";
  if (*size != bytes) return file + " has " + std::to_string(*size) + " bytes, not " + std::to_string(bytes);
  return deep ? deep_problem(artifacts, digest) : std::string();
}

// The copy is for people, but whoever reads it must not be told another program than the one that ran.
void check_program(Database& database, FileLayer& files, const std::filesystem::path& run_dir, FsckReport& report) {
  Statement rows = database.prepare("SELECT path,text FROM program WHERE kind='source' ORDER BY ord");
  for (std::size_t number = 0; rows.step(); ++number) {
    std::filesystem::path copy = program_copy(run_dir, number, rows.text_at(0));
    std::string text = rows.text_at(1);
    auto recorded = std::as_bytes(std::span(text));
    std::vector<std::byte> found;
    if (files.size(copy)) found = files.read(copy);
    if (std::equal(found.begin(), found.end(), recorded.begin(), recorded.end())) continue;
    report.problems.push_back("`" + copy.string() + "` is not the program as it is recorded");
  }
}

}  // namespace

std::vector<MissingFile> check_files(Database& database, const ArtifactStore& artifacts, bool deep) {
  std::vector<MissingFile> missing;
  // Listed first: to read every byte takes longer than a reader may hold a transaction.
  std::vector<std::pair<Digest, std::uint64_t>> live;
  {
    Statement rows = database.prepare("SELECT digest,bytes FROM artifacts WHERE state='live' ORDER BY digest");
    while (rows.step()) live.emplace_back(rows.digest_at(0), static_cast<std::uint64_t>(rows.int_at(1)));
  }
  for (const auto& [digest, bytes] : live) {
    std::string problem = problem_of(artifacts, digest, bytes, deep);
    if (!problem.empty()) missing.push_back({digest, problem});
  }
  return missing;
}

namespace {

// Whatever a run folder holds besides what its rows name.
void find_strays(FileLayer& files, Database& database, const std::filesystem::path& run_dir, FsckReport& report) {
  static const std::set<std::string> kOwn = {"lock",      "state.db", "state.db-wal", "state.db-shm",
                                             "artifacts", "tmp",      "log",          "program"};
  bool bundle = bundled_task(database).has_value();
  for (const std::filesystem::path& entry : files.list(run_dir)) {
    if (bundle && entry.filename() == kBundleFiles) continue;
    if (!kOwn.contains(entry.filename().string()) && !is_backup(entry)) report.strays.push_back(entry);
  }
}

void check_run_files(FileLayer& files, Database& database, const std::filesystem::path& run_dir, bool deep,
                     FsckReport& report) {
  ArtifactStore artifacts(files, run_dir);
  for (const MissingFile& file : check_files(database, artifacts, deep)) {
    // A live run may have collected it since the rows were read.
    Statement still = database.query("SELECT 1 FROM artifacts WHERE digest=?1 AND state='live'", file.digest);
    if (still.step()) report.problems.push_back(file.problem);
  }
  if (deep) check_program(database, files, run_dir, report);
  if (report.holder_pid == 0) report.leftovers = find_leftovers(files, database, artifacts, run_dir);
  find_strays(files, database, run_dir, report);
  report.artifacts = database.number("SELECT count(*) FROM artifacts WHERE state='live'");
  report.bytes =
      static_cast<std::uint64_t>(database.number("SELECT coalesce(sum(bytes),0) FROM artifacts WHERE state='live'"));
}

std::vector<std::string> rows_of_one_moment(Database& database) {
  Snapshot snapshot(database);
  return check_rows(database);
}

}  // namespace

FsckReport fsck(FileLayer& files, const std::filesystem::path& run_dir, bool deep) {
  require_run(files, run_dir);
  FsckReport report;
  report.holder_pid = run_holder(run_dir);
  try {
    Database database(run_dir / kDatabaseName, Database::Mode::read);
    check_schema(database);
    report.problems = rows_of_one_moment(database);
    // Rows that lie say nothing about files.
    if (report.problems.empty()) check_run_files(files, database, run_dir, deep, report);
  } catch (const StoreError& error) {
    if (error.code_id != "R0205") throw;
    report.problems.emplace_back(error.what());
  }
  return report;
}

}  // namespace rlflow
