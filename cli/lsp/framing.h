// Where does one message of the protocol end and the next begin?
#pragma once

#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>

namespace rlflow::lsp {

// The stream holds no header that could be understood; what follows cannot be found again.
struct FramingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "Content-Length: N", an empty line, N bytes. nullopt at the end of the stream. Throws FramingError.
std::optional<std::string> read_message(std::istream& in);
void write_message(std::ostream& out, const std::string& content);

}  // namespace rlflow::lsp
