// Everything that the store does to the disk, in order: files through the file layer, the database through a VFS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/store/file_layer.h"

namespace rlflow::testing {

struct DiskOp {
  enum class Kind {
    create,
    write,
    truncate,
    sync,
    rename,
    link,
    remove,
    remove_folder,
    make_folder,
    sync_folder,
    note
  };
  Kind kind = Kind::note;
  std::filesystem::path path;
  std::filesystem::path to;       // of a rename or a link
  std::uint64_t offset = 0;       // of a write; the new size of a truncate
  std::vector<std::byte> data{};  // of a write
  std::string text{};             // of a note: what was told to the user by then
};
std::string to_text(const DiskOp& op);

enum class Fate { pass, io_error, no_space, torn };  // torn: half of a write is done, then there is no space

// While it lives, every operation below `root` is recorded: those of `files()` and those of SQLite. One at a time in a
// process. SQLite's own VFS does the work; what it syncs beyond the file (a new log's folder) is recorded as it does
// it.
class RecordedDisk {
 public:
  explicit RecordedDisk(std::filesystem::path root);
  ~RecordedDisk();
  RecordedDisk(const RecordedDisk&) = delete;
  RecordedDisk& operator=(const RecordedDisk&) = delete;

  // Asked before each operation, one at a time; may end the process.
  std::function<Fate(const DiskOp&)> before;
  // A sync that a broken store would not make: done, but not recorded.
  std::function<bool(const DiskOp&)> left_out;

  FileLayer& files() { return *files_; }
  void note(const std::string& text);
  const std::vector<DiskOp>& ops() const { return ops_; }

  // For the file layer and the VFS: records the operation unless it is to fail.
  Fate act(DiskOp op);
  static RecordedDisk* recording(const std::filesystem::path& path);  // the one that `path` lies below, or null

 private:
  std::filesystem::path root_;
  std::unique_ptr<FileLayer> files_;
  std::mutex mutex_;
  std::vector<DiskOp> ops_;  // guarded by mutex_ while operations go on
};

// Makes SQLite's files in this process pass through the recorded disk; once is enough.
void register_recorded_vfs();

}  // namespace rlflow::testing
