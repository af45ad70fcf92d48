// Hashes of the files that a run reads.
#include "runtime/engine/source_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace rlflow {
namespace {

StoreError refused(const std::string& message, const std::string& help) {
  return StoreError(ExitCode::no, "R0208", message, help);
}

HashedFile hash_file(const std::string& root, const std::string& path) {
  std::filesystem::path file = std::filesystem::path(root) / path;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw refused("cannot read `" + file.string() + "`: " + std::strerror(errno), "put the file back");
  HashSink hash;
  std::vector<char> buffer(1 << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.write(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(stream.gcount()))));
  }
  if (stream.bad()) throw refused("cannot read `" + file.string() + "` to its end", "check the disk");
  std::uint64_t bytes = hash.size();
  return {path, hash.finish(), bytes};
}

}  // namespace

std::vector<HashedFile> hash_source_files(const Plan& plan, NodeLibrary& library) {
  std::vector<std::string> paths = library.files_of(plan);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<HashedFile> files;
  for (const std::string& path : paths) files.push_back(hash_file(plan.root, path));
  return files;
}

void require_unchanged(const std::string& root, const HashedFile& file) {
  if (hash_file(root, file.path).digest == file.digest) return;
  throw refused("`" + file.path + "` changed since the run began", "put the file back as it was, or start another run");
}

std::string origin_manifest(const std::vector<HashedFile>& files) {
  std::vector<Member> members;
  for (const HashedFile& file : files) members.push_back({file.path, file.digest});
  return manifest_text("source files", members);
}

}  // namespace rlflow
