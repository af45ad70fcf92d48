// Which programs can `rlflow new` write? Their texts are the files of cli/new/, held by the binary.
#pragma once

#include <vector>

namespace rlflow {

struct NewProgram {
  const char* kind;     // "grpo"
  const char* summary;  // one line, lower case, no full stop
  const char* text;
};

const std::vector<NewProgram>& new_programs();

}  // namespace rlflow
