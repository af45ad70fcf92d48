// Artifacts as files named by their content.
#include "runtime/store/artifact_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/contract/check.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

class HashingFile final : public ByteSink {
 public:
  explicit HashingFile(OutputFile& file) : file_(file) {}
  void write(std::span<const std::byte> data) override {
    hash_.write(data);
    file_.write(data);
  }
  Digest finish() { return hash_.finish(); }
  std::uint64_t size() const { return hash_.size(); }

 private:
  OutputFile& file_;
  HashSink hash_;
};

// After a failure that is reported anyway.
void remove_quietly(FileLayer& files, const std::filesystem::path& file) {
  try {
    files.remove(file);
  } catch (const StoreError&) {
    return;
  }
}

}  // namespace

ArtifactStore::ArtifactStore(FileLayer& files, std::filesystem::path run_dir)
    : files_(files), run_dir_(std::move(run_dir)) {}

std::filesystem::path ArtifactStore::path(const Digest& digest) const {
  std::string name = hex(digest);
  return run_dir_ / "artifacts" / name.substr(0, 2) / name;
}

Artifact ArtifactStore::put(const std::string& kind, const std::function<void(ByteSink&)>& write) {
  std::filesystem::path temporary =
      run_dir_ / "tmp" / (std::to_string(::getpid()) + "-" + std::to_string(next_.fetch_add(1)));
  Artifact artifact;
  artifact.kind = kind;
  try {
    auto file = files_.create(temporary);
    failpoint("artifact: created");
    HashingFile sink(*file);
    write(sink);
    failpoint("artifact: written");
    artifact.bytes = sink.size();
    artifact.digest = sink.finish();
    file->sync();
    failpoint("artifact: synced");
  } catch (...) {
    remove_quietly(files_, temporary);
    throw;
  }
  publish(temporary, artifact);
  return artifact;
}

void ArtifactStore::publish(const std::filesystem::path& temporary, const Artifact& artifact) {
  std::filesystem::path target = path(artifact.digest);
  make_durable_folders(files_, target.parent_path());
  failpoint("artifact: folder made");
  files_.rename(temporary, target);
  failpoint("artifact: renamed");
  files_.sync_folder(target.parent_path());
  failpoint("artifact: durable");
}

void ArtifactStore::share(const ArtifactStore& from, const Digest& digest) {
  std::filesystem::path target = path(digest);
  files_.make_folder(target.parent_path());
  if (files_.link(from.path(digest), target)) return;
  std::vector<std::byte> bytes = from.get(digest);
  put("copy", [&](ByteSink& sink) { sink.write(bytes); });
}

void ArtifactStore::sync_shared() {
  for (const auto& folder : files_.list(run_dir_ / "artifacts")) files_.sync_folder(folder);
  files_.sync_folder(run_dir_ / "artifacts");
}

std::optional<std::uint64_t> ArtifactStore::size(const Digest& digest) const { return files_.size(path(digest)); }

std::vector<std::filesystem::path> ArtifactStore::all_files() const {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : files_.list(run_dir_ / "artifacts")) {
    std::vector<std::filesystem::path> entries = files_.list(folder);
    files.insert(files.end(), entries.begin(), entries.end());
  }
  return files;
}

Artifact ArtifactStore::put(const Payload& payload) {
  return put(std::string(kind_name(payload.kind())), [&](ByteSink& sink) { payload.write(sink); });
}

std::vector<std::byte> ArtifactStore::get(const Digest& digest) const {
  std::filesystem::path file = path(digest);
  auto refuse = [&](const std::string& what) -> StoreError {
    return StoreError(ExitCode::store_damaged, "R0207", "artifact `" + file.string() + "` " + what,
                      "restore the file from a copy of the run folder");
  };
  if (!files_.size(file)) throw refuse("is missing");
  std::vector<std::byte> bytes = files_.read(file);
  Digest found = sha256(bytes);
  if (found != digest) {
    throw refuse("is damaged: its " + std::to_string(bytes.size()) + " bytes have the SHA-256 " +
                 hex(found).substr(0, 16) + "…");
  }
  return bytes;
}

void ArtifactStore::remove(const Digest& digest) {
  std::filesystem::path file = path(digest);
  files_.remove(file);
  // Else a power loss brings the file back after its row was marked gone.
  if (files_.size(file.parent_path())) files_.sync_folder(file.parent_path());
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (code < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + '"';
}

std::string manifest_text(const std::string& kind, std::span<const Member> members) {
  RLFLOW_CHECK(
      std::is_sorted(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; }),
      "members of a manifest stand in the order of their names");
  std::string text = "{\"format\": \"rlflow.manifest/1\", \"kind\": " + json_string(kind) + ", \"members\": {";
  for (std::size_t i = 0; i < members.size(); ++i) {
    text += (i > 0 ? ",\n" : "\n") + json_string(members[i].name) + ": \"" + hex(members[i].part) + "\"";
  }
  return text + "\n}}\n";
}

}  // namespace rlflow
