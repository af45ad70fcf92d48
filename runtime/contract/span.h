// Where something stands in the user's program: half-open byte offsets into one source file.
#pragma once

#include <cstdint>

#include "runtime/contract/ids.h"

namespace rlflow {

// `file` indexes Plan::sources and the compiler's SourceMap alike; an invalid file means "no place".
struct Span {
  FileId file;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool valid() const { return file.valid(); }
  friend bool operator==(const Span&, const Span&) = default;
};

}  // namespace rlflow
