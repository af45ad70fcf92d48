// What may be written at the cursor?
#pragma once

#include <string>
#include <vector>

#include "cli/lsp/cursor.h"
#include "cli/lsp/name_index.h"
#include "compiler/compile.h"

namespace rlflow::lsp {

enum class CompletionKind { keyword, function, name, setting, word, unit, type, text };

struct Completion {
  std::string label;
  CompletionKind kind = CompletionKind::name;
  std::string detail;  // one line beside the label
  std::string doc;     // markdown
  std::string insert;  // empty: the label
};

// What stands before and behind the cursor decides; names are those of the analysis, which may be of a broken text.
std::vector<Completion> complete(const Cursor& cursor, const Analysis& analysis, const NameIndex& names,
                                 const Catalog& catalog);

// The signatures of the call's op that its arguments, as far as they are written, fit; all of them where none does.
std::vector<const NodeSignature*> fitting_signatures(const WrittenCall& call, const Analysis& analysis,
                                                     const NameIndex& names, const Catalog& catalog);
// The settings of the block that the cursor's settings frame is, and what they belong to: "`rollout`".
struct BlockOwner {
  std::string name;
  std::vector<const SettingSpec*> settings;
};
BlockOwner block_owner(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog);

}  // namespace rlflow::lsp
