// Files without a row.
#include "runtime/store/leftovers.h"

#include "runtime/store/failpoint.h"

namespace rlflow {
namespace {

bool recorded(Database& database, const std::filesystem::path& file) {
  auto digest = digest_from_hex(file.filename().string());
  if (!digest) return false;
  return database.query("SELECT 1 FROM artifacts WHERE digest=?1 AND state!='gone'", *digest).step();
}

}  // namespace

std::vector<std::filesystem::path> find_leftovers(FileLayer& files, Database& database, const ArtifactStore& artifacts,
                                                  const std::filesystem::path& run_dir) {
  std::vector<std::filesystem::path> leftovers = files.list(run_dir / "tmp");
  for (const std::filesystem::path& file : artifacts.all_files()) {
    if (!recorded(database, file)) leftovers.push_back(file);
  }
  return leftovers;
}

void clear_leftovers(FileLayer& files, Database& database, const ArtifactStore& artifacts,
                     const std::filesystem::path& run_dir) {
  for (const std::filesystem::path& file : find_leftovers(files, database, artifacts, run_dir)) {
    files.remove(file);
    failpoint("recovery: leftover removed");
  }
}

}  // namespace rlflow
