// SQLite's files through the recorded disk: a VFS around its own, the default of this test process.
#include <sqlite3.h>

#include <cstring>
#include <new>

#include "tests/runtime/recorded_disk.h"

namespace rlflow::testing {
namespace {

struct ShimFile {
  sqlite3_file base;     // first: SQLite knows this alone
  const char* path;      // SQLite's own copy of the name; null for a temporary file
  bool folder_unsynced;  // a log or journal just made: SQLite syncs its folder with its first sync
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

ShimFile* shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return shim(file)->real(); }
sqlite3_vfs* real_vfs(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

Fate record(const char* path, DiskOp op) {
  RecordedDisk* disk = path ? RecordedDisk::recording(path) : nullptr;
  if (!disk) return Fate::pass;
  if (op.path.empty()) op.path = path;
  return disk->act(std::move(op));
}

int failure(Fate fate, int io_error) { return fate == Fate::io_error ? io_error : SQLITE_FULL; }

int close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), into, size, offset);
}
int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  auto* bytes = static_cast<const std::byte*>(data);
  Fate fate = record(shim(file)->path,
                     {DiskOp::Kind::write, {}, {}, static_cast<std::uint64_t>(offset), {bytes, bytes + size}});
  if (fate == Fate::torn) real(file)->pMethods->xWrite(real(file), data, size / 2, offset);
  if (fate != Fate::pass) return failure(fate, SQLITE_IOERR_WRITE);
  return real(file)->pMethods->xWrite(real(file), data, size, offset);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  Fate fate = record(shim(file)->path, {DiskOp::Kind::truncate, {}, {}, static_cast<std::uint64_t>(size)});
  if (fate != Fate::pass) return failure(fate, SQLITE_IOERR_TRUNCATE);
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int flags) {
  ShimFile* self = shim(file);
  Fate fate = record(self->path, {DiskOp::Kind::sync, {}, {}});
  if (fate != Fate::pass) return failure(fate, SQLITE_IOERR_FSYNC);
  if (self->folder_unsynced) {
    self->folder_unsynced = false;
    record(self->path, {DiskOp::Kind::sync_folder, std::filesystem::path(self->path).parent_path(), {}});
  }
  return real(file)->pMethods->xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) { return real(file)->pMethods->xFileSize(real(file), size); }
int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
int unlock(sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
int reserved(sqlite3_file* file, int* result) { return real(file)->pMethods->xCheckReservedLock(real(file), result); }
int control(sqlite3_file* file, int op, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), op, argument);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int characteristics(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** at) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, at);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }

// Version 2: with the shared memory of a log, without mapped reads.
const sqlite3_io_methods kMethods = {
    2,         close,    read,    write,       truncate,        sync,    file_size, lock,
    unlock,    reserved, control, sector_size, characteristics, shm_map, shm_lock,  shm_barrier,
    shm_unmap, nullptr,  nullptr};

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* self = new (file) ShimFile{{nullptr}, path, false};
  constexpr int kJournals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
  bool durable = flags & (kJournals | SQLITE_OPEN_MAIN_DB);
  if (!durable) self->path = nullptr;
  int there = 0;
  if (self->path && (flags & SQLITE_OPEN_CREATE)) {
    real_vfs(vfs)->xAccess(real_vfs(vfs), path, SQLITE_ACCESS_EXISTS, &there);
    if (!there && record(path, {DiskOp::Kind::create, {}, {}}) != Fate::pass) return SQLITE_CANTOPEN;
    self->folder_unsynced = flags & kJournals;
  }
  int code = real_vfs(vfs)->xOpen(real_vfs(vfs), path, self->real(), flags, out_flags);
  if (self->real()->pMethods) self->base.pMethods = &kMethods;
  return code;
}

int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  int there = 0;
  real_vfs(vfs)->xAccess(real_vfs(vfs), path, SQLITE_ACCESS_EXISTS, &there);
  if (there) {
    Fate fate = record(path, {DiskOp::Kind::remove, {}, {}});
    if (fate != Fate::pass) return SQLITE_IOERR_DELETE;
  }
  int code = real_vfs(vfs)->xDelete(real_vfs(vfs), path, sync_folder);
  if (sync_folder) record(path, {DiskOp::Kind::sync_folder, std::filesystem::path(path).parent_path(), {}});
  return code;
}

}  // namespace

void register_recorded_vfs() {
  static sqlite3_vfs recorded;
  if (recorded.pAppData) return;
  sqlite3_vfs* own = sqlite3_vfs_find(nullptr);
  recorded = *own;  // what is not replaced below needs no state of its own
  recorded.pNext = nullptr;
  recorded.zName = "recorded";
  recorded.pAppData = own;
  recorded.szOsFile = static_cast<int>(sizeof(ShimFile)) + own->szOsFile;
  recorded.xOpen = open;
  recorded.xDelete = remove;
  sqlite3_vfs_register(&recorded, 1);
}

}  // namespace rlflow::testing
