// One pass from brace to brace.
#include "nodes/data/placeholders.h"

#include "nodes/format/format_error.h"

namespace rlflow {

std::string filled(std::string_view text, const std::function<std::string(const std::string& name)>& field) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      made += c;
    } else if (at + 1 < text.size() && text[at + 1] == c) {
      made += text[at++];
    } else {
      const std::size_t end = c == '{' ? text.find('}', at) : std::string_view::npos;
      if (end == std::string_view::npos || end == at + 1) {
        throw FormatError("the text \"" + std::string(text) + "\" has a lone `" + c +
                          "`; a field is {name}, a brace {{ or }}");
      }
      made += field(std::string(text.substr(at + 1, end - at - 1)));
      at = end;
    }
  }
  return made;
}

}  // namespace rlflow
