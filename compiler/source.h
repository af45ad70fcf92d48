// Which text stands where: the source files of one compilation and their lines and columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/ids.h"
#include "runtime/contract/span.h"

namespace rlflow {

// A place as a person counts: lines and columns from 1, columns in code points.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t byte = 0;
};

struct SourceFile {
  std::string path;  // as messages print it
  std::string text;
  std::vector<std::uint32_t> line_starts;  // byte offset of each line; the first is 0, or 3 behind a byte order mark
};

inline constexpr const char* kCommandLinePath = "<command line>";

// Grows only; a FileId stays valid as long as the map. File 0 is the program, imports follow, and the
// command line's overrides, one a line, stand last where there are any.
class SourceMap {
 public:
  FileId add(std::string path, std::string text);

  std::size_t size() const { return files_.size(); }
  const SourceFile& file(FileId id) const { return files_[id.index()]; }
  bool is_command_line(FileId id) const { return file(id).path == kCommandLinePath; }

  Position position(FileId id, std::uint32_t byte) const;
  // The text of one line (from 1), without its line end.
  std::string_view line_text(FileId id, std::uint32_t line) const;
  std::string_view text(Span span) const;

 private:
  std::vector<SourceFile> files_;
};

// The offset of the first byte that is not part of well-formed UTF-8; npos if all is well.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace rlflow
