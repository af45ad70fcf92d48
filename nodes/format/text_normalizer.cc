// One step after the other.
#include "nodes/format/text_normalizer.h"

namespace rlflow {
namespace {

std::string_view stripped(std::string_view text, bool left, bool right) {
  std::size_t begin = 0, end = 0;  // end: after the last character that stays
  bool at_start = left;
  for (std::size_t at = 0; at < text.size();) {
    const bool space = is_white_space(next_character(text, at));
    if (at_start && space) begin = at;
    if (!space) at_start = false;
    if (!space || !right) end = at;
  }
  return end <= begin ? std::string_view() : text.substr(begin, end - begin);
}

}  // namespace

std::string replaced(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string made;
  made.reserve(text.size());
  std::size_t from = 0;
  for (std::size_t at = text.find(pattern); at != std::string_view::npos; at = text.find(pattern, from)) {
    made.append(text.substr(from, at - from)).append(content);
    from = at + pattern.size();
  }
  return made.append(text.substr(from));
}

std::string normalized(const std::vector<NormalizerStep>& steps, std::string text) {
  for (const NormalizerStep& step : steps) {
    switch (step.kind) {
      case NormalizerStep::Kind::form: text = normal_form(text, step.form); break;
      case NormalizerStep::Kind::lowercase: text = lowercase(text); break;
      case NormalizerStep::Kind::strip: text = std::string(stripped(text, step.left, step.right)); break;
      case NormalizerStep::Kind::replace: text = replaced(text, step.pattern, step.content); break;
      case NormalizerStep::Kind::prepend:
        if (!text.empty()) text.insert(0, step.content);
        break;
    }
  }
  return text;
}

}  // namespace rlflow
