// Which argument of which call does the cursor stand in?
#pragma once

#include <string>

#include "cli/lsp/cursor.h"
#include "runtime/contract/signature.h"

namespace rlflow::lsp {

// The settings block that the call is a value in, `{ optim = adamw(|) }`; null where it is in none.
const Frame* settings_around(const Cursor& cursor, const Frame& call);
// What the call inside a setting's value is: the setting's own, or one that is an argument of it (`lr = cosine(|)`);
// null where the setting takes no such call.
const CallSpec* called(const Cursor& cursor, const SettingSpec& spec, const Frame& frame, const std::string& callee);

// The call with the arguments before the one that is being written alone.
WrittenCall without_current(WrittenCall call, const Frame& frame);

// The argument of the signature at the cursor; `named`: the name written in front of it, or empty. Null: none.
const ArgumentSpec* argument_at(const NodeSignature& signature, const WrittenCall& call, const Frame& frame,
                                const std::string& named);

}  // namespace rlflow::lsp
