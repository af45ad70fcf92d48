// Which types and sizes did the compiler infer that the program does not write?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace rlflow::lsp {

struct InlayHint {
  std::uint32_t byte = 0;
  std::string label;
};

// Of file 0, in its order: `: adv[B=256]` behind an output without a type; `P=32` behind a written type whose
// dimensions this node makes and the program fixes.
std::vector<InlayHint> inlay_hints(const Analysis& analysis);

}  // namespace rlflow::lsp
