// The header of JSON-RPC over a byte stream.
#include "cli/lsp/framing.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <istream>
#include <ostream>

namespace rlflow::lsp {
namespace {

constexpr std::size_t kLargestMessage = std::size_t{64} << 20;
constexpr std::size_t kLongestHeader = 4096;

// One header line without its end; nullopt where the stream ends before it begins.
std::optional<std::string> read_line(std::istream& in) {
  std::string line;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    line += static_cast<char>(c);
    if (line.size() > kLongestHeader) throw FramingError("a header line is longer than 4,096 bytes");
  }
  if (!line.empty()) throw FramingError("the stream ends inside a header");
  return std::nullopt;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::size_t length_in(const std::string& value) {
  std::size_t begin = value.find_first_not_of(" \t");
  std::size_t length = 0;
  const char* end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data() + std::min(begin, value.size()), end, length);
  if (error != std::errc() || std::string(stop, end).find_first_not_of(" \t") != std::string::npos) {
    throw FramingError("Content-Length is not a number: " + value);
  }
  if (length > kLargestMessage) throw FramingError("a message is larger than 64 MiB");
  return length;
}

}  // namespace

std::optional<std::string> read_message(std::istream& in) {
  std::optional<std::size_t> length;
  for (bool first = true;; first = false) {
    std::optional<std::string> line = read_line(in);
    if (!line && first) return std::nullopt;
    if (!line) throw FramingError("the stream ends inside a header");
    if (line->empty()) break;
    std::size_t colon = line->find(':');
    if (colon == std::string::npos) throw FramingError("a header line has no colon: " + line->substr(0, 80));
    if (lowered(line->substr(0, colon)) == "content-length") length = length_in(line->substr(colon + 1));
  }
  if (!length) throw FramingError("a header has no Content-Length");
  std::string content(*length, '\0');
  in.read(content.data(), static_cast<std::streamsize>(*length));
  if (static_cast<std::size_t>(in.gcount()) != *length) throw FramingError("the stream ends inside a message");
  return content;
}

void write_message(std::ostream& out, const std::string& content) {
  out << "Content-Length: " << content.size() << "\r\n\r\n" << content << std::flush;
}

}  // namespace rlflow::lsp
