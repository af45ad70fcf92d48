// Through which one door do durable files go? Tests stand in it and fail or tear what passes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rlflow {

// A file being written. Not thread-safe. Closed without a sync if destroyed early.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  virtual void sync() = 0;  // after this the bytes survive a power loss, if the folder's entry does
};

// Every call may be made from any thread. Failures throw StoreError naming path, position and cause.
class FileLayer {
 public:
  virtual ~FileLayer() = default;
  virtual std::unique_ptr<OutputFile> create(const std::filesystem::path& file) = 0;  // must not exist; mode 0600
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual void make_folder(const std::filesystem::path& folder) = 0;  // mode 0700; one that is there is fine
  virtual void sync_folder(const std::filesystem::path& folder) = 0;
  virtual void remove(const std::filesystem::path& file) = 0;  // an absent one is fine
  virtual std::vector<std::byte> read(const std::filesystem::path& file) = 0;
};

class PosixFiles final : public FileLayer {
 public:
  std::unique_ptr<OutputFile> create(const std::filesystem::path& file) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  void make_folder(const std::filesystem::path& folder) override;
  void sync_folder(const std::filesystem::path& folder) override;
  void remove(const std::filesystem::path& file) override;
  std::vector<std::byte> read(const std::filesystem::path& file) override;
};

// Writes `text` as `folder/name`: temporary file, sync, rename, sync of the folder.
void publish_text(FileLayer& files, const std::filesystem::path& folder, const std::string& name,
                  const std::string& text);

}  // namespace rlflow
