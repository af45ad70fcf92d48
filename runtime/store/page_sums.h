// Does each page of the database file still hold what was written there? A layer between SQLite and the system's files.
//
//   page = 4088 bytes, as SQLite fills them; 8 bytes, little endian: page_sum of the page's number and those bytes
//
// SQLite leaves those 8 bytes alone ("reserved space", header byte 20), so that any program still reads the file. The
// log has sums of its own (SQLite's, each frame); pages get theirs as they move from the log into the file. A page that
// was never written is all zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rlflow {

inline constexpr int kPageBytes = 4096;
inline constexpr int kPageSumBytes = 8;

// `page` without its sum. Another value for every single changed word, number included.
std::uint64_t page_sum(std::uint64_t number, std::span<const std::byte> page);

// The name under which SQLite knows the layer over its present default; to be given to sqlite3_open_v2. Reading a page
// with a wrong sum fails with SQLITE_IOERR_DATA. A file without reserved space (schema version 1) is read as it is.
// Any thread; registers the layer when first asked.
const char* page_sums_vfs();

// For sqlite3_file_control: writes the number of the last page found wrong to the std::int64_t given.
inline constexpr int kWrongPageControl = 0x524C0001;
// The same: whether pages carry sums, as 0 or 1.
inline constexpr int kPagesSummedControl = 0x524C0002;

}  // namespace rlflow
