// What the words of the language itself mean; what the catalog knows is described by it.
#pragma once

#include <string>
#include <string_view>

namespace rlflow::lsp {

// Markdown: the form, and one sentence. Empty for what is no such word.
std::string keyword_doc(std::string_view word);

}  // namespace rlflow::lsp
