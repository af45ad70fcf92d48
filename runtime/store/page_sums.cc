// A VFS over SQLite's own that sums the pages of main database files and passes everything else on.
#include "runtime/store/page_sums.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace rlflow {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // odd, so that a product loses nothing

// One open database file; the file below lies behind it.
struct SummedFile {
  sqlite3_file base;        // first: SQLite knows this alone
  bool summed;              // its pages carry sums
  std::int64_t wrong_page;  // the last one found, from 1; 0: none
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

SummedFile* summed(sqlite3_file* file) { return reinterpret_cast<SummedFile*>(file); }
sqlite3_file* below(sqlite3_file* file) { return summed(file)->below(); }
sqlite3_vfs* below(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

bool is_page(int size, sqlite3_int64 offset) { return size == kPageBytes && offset % kPageBytes == 0; }

std::uint64_t sum_of(sqlite3_int64 offset, const std::byte* page) {
  return page_sum(static_cast<std::uint64_t>(offset / kPageBytes) + 1, {page, kPageBytes - kPageSumBytes});
}

// Of page 1: SQLite's header says how much of each page is left alone.
bool reserves_sums(const std::byte* header) { return header[20] == std::byte{kPageSumBytes}; }

bool never_written(const std::byte* page) {
  return std::all_of(page, page + kPageBytes, [](std::byte b) { return b == std::byte{0}; });
}

int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
  int code = below(file)->pMethods->xRead(below(file), into, size, offset);
  if (code != SQLITE_OK || !is_page(size, offset)) return code;
  const auto* page = static_cast<const std::byte*>(into);
  if (offset == 0 && reserves_sums(page)) summed(file)->summed = true;
  if (!summed(file)->summed) return code;
  std::uint64_t stored;
  std::memcpy(&stored, page + kPageBytes - kPageSumBytes, sizeof stored);
  if (stored == sum_of(offset, page) || never_written(page)) return code;
  summed(file)->wrong_page = offset / kPageBytes + 1;
  return SQLITE_IOERR_DATA;
}

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const auto* page = static_cast<const std::byte*>(data);
  if (is_page(size, offset) && offset == 0) summed(file)->summed = reserves_sums(page);
  if (!is_page(size, offset) || !summed(file)->summed) {
    return below(file)->pMethods->xWrite(below(file), data, size, offset);
  }
  std::array<std::byte, kPageBytes> with_sum;  // SQLite's own copy of the page is not ours to change
  std::copy_n(page, kPageBytes, with_sum.begin());
  std::uint64_t sum = sum_of(offset, page);
  std::memcpy(with_sum.data() + kPageBytes - kPageSumBytes, &sum, sizeof sum);
  return below(file)->pMethods->xWrite(below(file), with_sum.data(), size, offset);
}

int control(sqlite3_file* file, int op, void* argument) {
  if (op == kWrongPageControl || op == kPagesSummedControl) {
    *static_cast<std::int64_t*>(argument) = op == kWrongPageControl ? summed(file)->wrong_page : summed(file)->summed;
    return SQLITE_OK;
  }
  return below(file)->pMethods->xFileControl(below(file), op, argument);
}

int close(sqlite3_file* file) { return below(file)->pMethods->xClose(below(file)); }
int truncate(sqlite3_file* file, sqlite3_int64 size) { return below(file)->pMethods->xTruncate(below(file), size); }
int sync(sqlite3_file* file, int flags) { return below(file)->pMethods->xSync(below(file), flags); }
int file_size(sqlite3_file* file, sqlite3_int64* size) { return below(file)->pMethods->xFileSize(below(file), size); }
int lock(sqlite3_file* file, int level) { return below(file)->pMethods->xLock(below(file), level); }
int unlock(sqlite3_file* file, int level) { return below(file)->pMethods->xUnlock(below(file), level); }
int reserved(sqlite3_file* file, int* held) { return below(file)->pMethods->xCheckReservedLock(below(file), held); }
int sector_size(sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); }
int characteristics(sqlite3_file* file) { return below(file)->pMethods->xDeviceCharacteristics(below(file)); }
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** at) {
  return below(file)->pMethods->xShmMap(below(file), page, size, extend, at);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return below(file)->pMethods->xShmLock(below(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { below(file)->pMethods->xShmBarrier(below(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return below(file)->pMethods->xShmUnmap(below(file), remove); }

// Version 2: with the shared memory of a log, without mapped reads, which would pass by `read`.
const sqlite3_io_methods kMethods = {
    2,         close,    read,    write,       truncate,        sync,    file_size, lock,
    unlock,    reserved, control, sector_size, characteristics, shm_map, shm_lock,  shm_barrier,
    shm_unmap, nullptr,  nullptr};

// A file that is there without reserved space has no sums, and must be a store of the time before them (user_version,
// header bytes 60 to 63). Anything else is summed, or damaged.
bool expects_sums(sqlite3_file* file) {
  std::array<std::byte, 100> header{};
  if (file->pMethods->xRead(file, header.data(), header.size(), 0) != SQLITE_OK) return true;  // new, or cut off
  const std::array<std::byte, 4> first_version{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};
  return !(header[20] == std::byte{0} && std::equal(first_version.begin(), first_version.end(), header.begin() + 60));
}

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  if (!(flags & SQLITE_OPEN_MAIN_DB)) return below(vfs)->xOpen(below(vfs), path, file, flags, out_flags);
  auto* self = new (file) SummedFile{{nullptr}, true, 0};
  int code = below(vfs)->xOpen(below(vfs), path, self->below(), flags, out_flags);
  if (self->below()->pMethods) self->base.pMethods = &kMethods;
  if (code == SQLITE_OK) self->summed = expects_sums(self->below());
  return code;
}
int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  return below(vfs)->xDelete(below(vfs), path, sync_folder);
}
int access(sqlite3_vfs* vfs, const char* path, int flags, int* answer) {
  return below(vfs)->xAccess(below(vfs), path, flags, answer);
}
int full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  return below(vfs)->xFullPathname(below(vfs), path, size, out);
}
int randomness(sqlite3_vfs* vfs, int size, char* out) { return below(vfs)->xRandomness(below(vfs), size, out); }
int sleep(sqlite3_vfs* vfs, int microseconds) { return below(vfs)->xSleep(below(vfs), microseconds); }
int last_error(sqlite3_vfs* vfs, int size, char* out) { return below(vfs)->xGetLastError(below(vfs), size, out); }
int current_time(sqlite3_vfs* vfs, double* days) { return below(vfs)->xCurrentTime(below(vfs), days); }
int current_time_ms(sqlite3_vfs* vfs, sqlite3_int64* ms) { return below(vfs)->xCurrentTimeInt64(below(vfs), ms); }

sqlite3_vfs layer_over(sqlite3_vfs* under, const char* name) {
  sqlite3_vfs layer{};  // no extensions are loaded and no system calls replaced, so those entries stay empty
  layer.iVersion = 2;
  layer.szOsFile = static_cast<int>(sizeof(SummedFile)) + under->szOsFile;
  layer.mxPathname = under->mxPathname;
  layer.zName = name;
  layer.pAppData = under;
  layer.xOpen = open;
  layer.xDelete = remove;
  layer.xAccess = access;
  layer.xFullPathname = full_path;
  layer.xRandomness = randomness;
  layer.xSleep = sleep;
  layer.xCurrentTime = current_time;
  layer.xGetLastError = last_error;
  layer.xCurrentTimeInt64 = current_time_ms;
  return layer;
}

}  // namespace

std::uint64_t page_sum(std::uint64_t number, std::span<const std::byte> page) {
  // Four chains, so that a processor works on four words at once; every step is one-to-one in the word and in the
  // chain.
  std::array<std::uint64_t, 4> chains{number, 1, 2, 3};
  std::size_t chain = 0;
  for (std::size_t at = 0; at < page.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, page.data() + at, std::min<std::size_t>(8, page.size() - at));
    std::uint64_t& h = chains[chain];
    h = (h ^ word) * kFactor;
    h ^= h >> 32;
    chain = (chain + 1) % chains.size();
  }
  std::uint64_t sum = 0;
  for (std::uint64_t h : chains) {
    sum = (sum ^ h) * kFactor;
    sum ^= sum >> 29;
  }
  return sum;
}

const char* page_sums_vfs() {
  sqlite3_vfs* under = sqlite3_vfs_find(nullptr);
  // Lives as long as the process: SQLite keeps the pointer, and has no way to say that nobody uses it any more.
  struct Layer {
    std::string name;
    sqlite3_vfs vfs;
  };
  std::string name = std::string("page_sums+") + under->zName;
  if (sqlite3_vfs* known = sqlite3_vfs_find(name.c_str())) return known->zName;
  auto* layer = new Layer{std::move(name), {}};
  layer->vfs = layer_over(under, layer->name.c_str());
  sqlite3_vfs_register(&layer->vfs, 0);
  return layer->name.c_str();
}

}  // namespace rlflow
