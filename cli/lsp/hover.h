// What is the thing under the cursor?
#pragma once

#include <cstdint>
#include <string>

#include "cli/lsp/name_index.h"
#include "compiler/compile.h"

namespace rlflow::lsp {

struct Hover {
  std::string text;  // markdown; empty where there is nothing to say
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

Hover hover_at(std::uint32_t byte, const Analysis& analysis, const NameIndex& names, const Catalog& catalog);

}  // namespace rlflow::lsp
