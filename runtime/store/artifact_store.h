// Where do a run's bytes lie? Immutable files named by their SHA-256, checked each time they are read.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/contract/digest.h"
#include "runtime/contract/payload.h"
#include "runtime/store/file_layer.h"

namespace rlflow {

struct Artifact {
  Digest digest;
  std::string kind;  // a kind name, "manifest", "parameters", "optimizer", …
  std::uint64_t bytes = 0;
};

// artifacts/ab/<64 hex digits> below a run folder. `put` makes the file durable before it returns:
// temporary file → fsync → rename → fsync of the folder. It does so even where a file of that name is there already:
// nobody knows whether that one was durable before the last process died, or is whole still.
// Any thread may call; failures throw StoreError.
class ArtifactStore {
 public:
  ArtifactStore(FileLayer& files, std::filesystem::path run_dir);

  Artifact put(const std::string& kind, const std::function<void(ByteSink&)>& write);
  Artifact put(const Payload& payload);
  // The same artifact under this run's name, by a hard link where the file system has them: files never change, and an
  // unlink takes one name alone. Else a copy, its hash verified. Durable after `sync_shared`.
  void share(const ArtifactStore& from, const Digest& digest);
  void sync_shared();
  // The bytes, their hash verified: a missing, truncated or changed file is refused by path.
  std::vector<std::byte> get(const Digest& digest) const;
  void remove(const Digest& digest);
  std::filesystem::path path(const Digest& digest) const;
  std::optional<std::uint64_t> size(const Digest& digest) const;  // nullopt: there is no such file
  std::vector<std::filesystem::path> all_files() const;           // whatever lies in artifacts/ab/, by name

 private:
  void publish(const std::filesystem::path& temporary, const Artifact& artifact);

  FileLayer& files_;
  std::filesystem::path run_dir_;
  std::atomic<std::uint64_t> next_ = 0;  // names temporary files
};

// The text of a manifest: a JSON object that lists its members in the order of their names.
struct Member {
  std::string name;
  Digest part;
};
std::string manifest_text(const std::string& kind, std::span<const Member> members);
// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

}  // namespace rlflow
