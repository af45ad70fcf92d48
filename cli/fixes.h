// What do a program's files look like once the certain corrections are made?
#pragma once

#include <map>
#include <string>

#include "compiler/compile.h"

namespace rlflow {

struct FixedFiles {
  std::map<std::string, std::string> texts;  // path -> new text, of files that change
  std::size_t applied = 0;                   // fixes
};

// Applies the safe fixes. Of two that touch the same text the second is left for a next round.
FixedFiles apply_safe_fixes(const Analysis& analysis);

}  // namespace rlflow
