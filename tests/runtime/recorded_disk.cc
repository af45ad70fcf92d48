// The recording door of the file layer.
#include "tests/runtime/recorded_disk.h"

#include <cerrno>

namespace rlflow::testing {
namespace {

RecordedDisk*& active_disk() {
  static RecordedDisk* disk = nullptr;
  return disk;
}

void require_pass(Fate fate, const std::string& doing, const std::filesystem::path& path,
                  const std::string& where = {}) {
  if (fate == Fate::pass) return;
  throw file_failure(fate == Fate::io_error ? EIO : ENOSPC, doing, path, where);
}

class RecordedOutput final : public OutputFile {
 public:
  RecordedOutput(RecordedDisk& disk, std::unique_ptr<OutputFile> file, std::filesystem::path path)
      : disk_(disk), file_(std::move(file)), path_(std::move(path)) {}

  void write(std::span<const std::byte> data) override {
    Fate fate = disk_.act({DiskOp::Kind::write, path_, {}, written_, {data.begin(), data.end()}});
    if (fate == Fate::torn) file_->write(data.first(data.size() / 2));
    require_pass(fate, "write", path_, " at byte " + std::to_string(written_));
    file_->write(data);
    written_ += data.size();
  }
  void sync() override {
    require_pass(disk_.act({DiskOp::Kind::sync, path_, {}}), "sync", path_,
                 " of " + std::to_string(written_) + " bytes");
    file_->sync();
  }

 private:
  RecordedDisk& disk_;
  std::unique_ptr<OutputFile> file_;
  std::filesystem::path path_;
  std::uint64_t written_ = 0;
};

class RecordedFiles final : public FileLayer {
 public:
  explicit RecordedFiles(RecordedDisk& disk) : disk_(disk) {}

  std::unique_ptr<OutputFile> create(const Path& file) override {
    require_pass(disk_.act({DiskOp::Kind::create, file, {}}), "create", file);
    return std::make_unique<RecordedOutput>(disk_, real_.create(file), file);
  }
  void rename(const Path& from, const Path& to) override {
    require_pass(disk_.act({DiskOp::Kind::rename, from, to}), "rename", from, " to `" + to.string() + "`");
    real_.rename(from, to);
  }
  bool link(const Path& from, const Path& to) override {
    require_pass(disk_.act({DiskOp::Kind::link, from, to}), "link", from, " to `" + to.string() + "`");
    return real_.link(from, to);
  }
  void make_folder(const Path& folder) override {
    require_pass(disk_.act({DiskOp::Kind::make_folder, folder, {}}), "make folder", folder);
    real_.make_folder(folder);
  }
  void sync_folder(const Path& folder) override {
    require_pass(disk_.act({DiskOp::Kind::sync_folder, folder, {}}), "sync folder", folder);
    real_.sync_folder(folder);
  }
  void remove(const Path& file) override {
    if (!real_.size(file)) return;
    require_pass(disk_.act({DiskOp::Kind::remove, file, {}}), "remove", file);
    real_.remove(file);
  }
  void remove_folder(const Path& folder) override {
    if (!real_.size(folder)) return;
    require_pass(disk_.act({DiskOp::Kind::remove_folder, folder, {}}), "remove folder", folder);
    real_.remove_folder(folder);
  }
  std::vector<std::byte> read(const Path& file) override { return real_.read(file); }
  std::optional<std::uint64_t> size(const Path& file) override { return real_.size(file); }
  std::vector<Path> list(const Path& folder) override { return real_.list(folder); }
  std::unique_ptr<FileLock> lock(const Path& file) override { return real_.lock(file); }

 private:
  RecordedDisk& disk_;
  PosixFiles real_;
};

const char* kind_text(DiskOp::Kind kind) {
  switch (kind) {
    case DiskOp::Kind::create: return "create";
    case DiskOp::Kind::write: return "write";
    case DiskOp::Kind::truncate: return "truncate";
    case DiskOp::Kind::sync: return "sync";
    case DiskOp::Kind::rename: return "rename";
    case DiskOp::Kind::link: return "link";
    case DiskOp::Kind::remove: return "remove";
    case DiskOp::Kind::remove_folder: return "remove folder";
    case DiskOp::Kind::make_folder: return "make folder";
    case DiskOp::Kind::sync_folder: return "sync folder";
    case DiskOp::Kind::note: return "told";
  }
  return "?";
}

}  // namespace

std::string to_text(const DiskOp& op) {
  std::string text = std::string(kind_text(op.kind)) + " " + op.path.string() + op.text;
  if (op.kind == DiskOp::Kind::write) text += " " + std::to_string(op.data.size()) + " at " + std::to_string(op.offset);
  return op.to.empty() ? text : text + " to " + op.to.string();
}

RecordedDisk::RecordedDisk(std::filesystem::path root)
    : root_(std::move(root)), files_(std::make_unique<RecordedFiles>(*this)) {
  register_recorded_vfs();
  active_disk() = this;
}
RecordedDisk::~RecordedDisk() { active_disk() = nullptr; }

RecordedDisk* RecordedDisk::recording(const std::filesystem::path& path) {
  RecordedDisk* disk = active_disk();
  return disk && path.string().starts_with(disk->root_.string() + "/") ? disk : nullptr;
}

Fate RecordedDisk::act(DiskOp op) {
  std::lock_guard lock(mutex_);
  Fate fate = before ? before(op) : Fate::pass;
  if (fate == Fate::torn && op.kind != DiskOp::Kind::write) fate = Fate::no_space;
  if (fate == Fate::torn) op.data.resize(op.data.size() / 2);
  bool done = fate == Fate::pass || fate == Fate::torn;
  if (done && !(left_out && left_out(op))) ops_.push_back(std::move(op));
  return fate;
}

void RecordedDisk::note(const std::string& text) {
  std::lock_guard lock(mutex_);
  ops_.push_back({DiskOp::Kind::note, {}, {}, 0, {}, text});
}

}  // namespace rlflow::testing
