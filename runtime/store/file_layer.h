// Through which one door does the store touch files? Tests stand in it and fail, tear or drop what passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/store/store_error.h"

namespace rlflow {

// A file being written. Not thread-safe. Closed without a sync if destroyed early.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  virtual void sync() = 0;  // after this the bytes survive a power loss, if the folder's entry does
};

// The lock of an open file: it ends with this object, and with the process whatever kills it.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Every call may be made from any thread. Failures throw StoreError naming path, position and cause.
class FileLayer {
 public:
  using Path = std::filesystem::path;
  virtual ~FileLayer() = default;
  virtual std::unique_ptr<OutputFile> create(const Path& file) = 0;  // must not exist; mode 0600
  virtual void rename(const Path& from, const Path& to) = 0;
  // Another name for the same bytes; false where the two places cannot share them (other file systems, say).
  virtual bool link(const Path& from, const Path& to) = 0;
  virtual void make_folder(const Path& folder) = 0;  // mode 0700; one that is there is fine
  virtual void sync_folder(const Path& folder) = 0;
  virtual void remove(const Path& file) = 0;           // an absent one is fine
  virtual void remove_folder(const Path& folder) = 0;  // with all that is in it; an absent one is fine
  virtual std::vector<std::byte> read(const Path& file) = 0;
  virtual std::optional<std::uint64_t> size(const Path& file) = 0;  // nullopt: there is no such file
  virtual std::vector<Path> list(const Path& folder) = 0;           // full paths by name; none of an absent folder
  // Makes the file if it is absent and writes this process's id into it; null where another open file holds it.
  virtual std::unique_ptr<FileLock> lock(const Path& file) = 0;
};

class PosixFiles final : public FileLayer {
 public:
  std::unique_ptr<OutputFile> create(const Path& file) override;
  void rename(const Path& from, const Path& to) override;
  bool link(const Path& from, const Path& to) override;
  void make_folder(const Path& folder) override;
  void sync_folder(const Path& folder) override;
  void remove(const Path& file) override;
  void remove_folder(const Path& folder) override;
  std::vector<std::byte> read(const Path& file) override;
  std::optional<std::uint64_t> size(const Path& file) override;
  std::vector<Path> list(const Path& folder) override;
  std::unique_ptr<FileLock> lock(const Path& file) override;
};

// The process that holds the lock of a file; 0 if nobody does.
std::int64_t lock_holder(const std::filesystem::path& file);

// "cannot write `…` at byte 4096: No space left on device", with the next action.
StoreError file_failure(int error, const std::string& doing, const std::filesystem::path& path,
                        const std::string& where = {});

// Reads all of a file to learn whether the disk gives it: StoreError R0206 if not; an absent one is fine.
void require_readable(const std::filesystem::path& file);

// Writes `text` as `folder/name`: temporary file, sync, rename, sync of the folder.
void publish_text(FileLayer& files, const std::filesystem::path& folder, const std::string& name,
                  const std::string& text);
// Makes a folder and those above it that are missing, each durable in the one above.
void make_durable_folders(FileLayer& files, const std::filesystem::path& folder);

}  // namespace rlflow
