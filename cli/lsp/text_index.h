// Which byte stands at an editor's line and column, and where does an editor see a byte?
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rlflow::lsp {

// As the protocol counts: from 0, columns in UTF-16 code units.
struct EditorPosition {
  std::uint32_t line = 0;
  std::uint32_t character = 0;
};

// The lines of one text, which it borrows. A line ends with LF, CR or both. A place outside is moved to the nearest
// inside: behind the end of its line, or of the text.
class TextIndex {
 public:
  explicit TextIndex(std::string_view text);

  std::uint32_t byte(EditorPosition position) const;
  EditorPosition position(std::uint32_t byte) const;

  // {"start": …, "end": …}
  nlohmann::json range(std::uint32_t begin, std::uint32_t end) const;

 private:
  std::string_view line(std::uint32_t number) const;  // without its end

  std::string_view text_;
  std::vector<std::uint32_t> starts_;
};

// Throws std::exception where the JSON is no position.
EditorPosition position_of(const nlohmann::json& position);

// One content change of textDocument/didChange: with a range it is replaced, without one the whole text is.
// A range whose end stands before its start is read the other way round.
void apply_change(std::string& text, const nlohmann::json& change);

}  // namespace rlflow::lsp
