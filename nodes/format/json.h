// How JSON from outside is read: strictly, within limits.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rlflow {

inline constexpr int kMaxJsonDepth = 64;

// Strict JSON: valid UTF-8, no duplicate keys, depth <= 64, one value and nothing after it.
// `what` names the text in messages ("config.json"). Throws FormatError with a byte offset where known.
nlohmann::json parse_json(std::string_view text, std::string_view what);

// Whether two JSON texts say the same, whatever their white space and the order of keys. A text that is not strict JSON
// equals only the same bytes.
bool equal_json(std::string_view a, std::string_view b);

// `text` as a JSON string, quotes included; `text` must be valid UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace rlflow
