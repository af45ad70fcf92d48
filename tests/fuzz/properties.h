// What must hold of every text whatever: for the fuzzer, and for the replay of what it found.
#pragma once

#include <string>

#include "runtime/contract/signature.h"

namespace rlflow::testing {

// Lexes, parses, checks, renders and formats the text. Empty if all is well, else the property that is broken: a place
// outside its file, two analyses that differ, a format that does not settle or that changes what is written.
std::string broken_property(const std::string& text, const Catalog& catalog);

}  // namespace rlflow::testing
