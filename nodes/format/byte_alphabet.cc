// Built from its rule.
#include "nodes/format/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "nodes/format/unicode_text.h"

namespace rlflow {
namespace {

constexpr bool is_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// By character below U+0144: the byte, or -1.
constexpr std::array<std::int16_t, 0x144> make_bytes() {
  std::array<std::int16_t, 0x144> bytes{};
  bytes.fill(-1);
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    bytes[is_itself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
  return bytes;
}

constexpr std::array<std::int16_t, 0x144> kBytes = make_bytes();

}  // namespace

std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const std::uint32_t c = next_character(token, at);
    if (c >= kBytes.size() || kBytes[c] < 0) return std::nullopt;
    bytes += static_cast<char>(kBytes[c]);
  }
  return bytes;
}

}  // namespace rlflow
