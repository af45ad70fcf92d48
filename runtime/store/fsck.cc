// The files of a store against its rows.
#include "runtime/store/fsck.h"

#include <algorithm>

#include "runtime/store/leftovers.h"
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
  Statement rows = database.prepare("SELECT digest,bytes FROM artifacts WHERE state='live' ORDER BY digest");
  while (rows.step()) {
    Digest digest = rows.digest_at(0);
    std::string problem = problem_of(artifacts, digest, static_cast<std::uint64_t>(rows.int_at(1)), deep);
    if (!problem.empty()) missing.push_back({digest, problem});
  }
  return missing;
}

FsckReport fsck(FileLayer& files, const std::filesystem::path& run_dir, bool deep) {
  require_run(files, run_dir);
  Database database(run_dir / kDatabaseName, Database::Mode::read);
  check_schema(database);
  FsckReport report;
  report.problems = check_rows(database);
  if (!report.problems.empty()) return report;  // rows that lie say nothing about files
  ArtifactStore artifacts(files, run_dir);
  for (const MissingFile& file : check_files(database, artifacts, deep)) report.problems.push_back(file.problem);
  if (deep) check_program(database, files, run_dir, report);
  report.leftovers = find_leftovers(files, database, artifacts, run_dir);
  report.artifacts = database.number("SELECT count(*) FROM artifacts WHERE state='live'");
  report.bytes =
      static_cast<std::uint64_t>(database.number("SELECT coalesce(sum(bytes),0) FROM artifacts WHERE state='live'"));
  return report;
}

}  // namespace rlflow
