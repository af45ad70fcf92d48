// What a file from outside throws when it is not what it claims to be.
#pragma once

#include <stdexcept>

namespace rlflow {

// The message names the file's part (key, tensor, offset) and the limit or rule that it breaks.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace rlflow
