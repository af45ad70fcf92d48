// The characters that byte-level tokenizers write bytes as: printable ones of Latin-1 are themselves, the 68 others
// are U+0100 and on, in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlflow {

// The bytes that `token` stands for; nullopt where a character of it is none of the alphabet. Valid UTF-8.
std::optional<std::string> bytes_of_token(std::string_view token);

}  // namespace rlflow
