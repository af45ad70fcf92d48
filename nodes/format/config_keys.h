// Bounded reads of single keys of a config.json. Throw FormatError naming the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace rlflow {

// The value, null where the key is absent or null.
const nlohmann::json* config_value(const nlohmann::json& object, const char* key);

std::int64_t config_integer(const nlohmann::json& object, const char* key, std::int64_t lo, std::int64_t hi);
std::int64_t config_integer(const nlohmann::json& object, const char* key, std::int64_t lo, std::int64_t hi,
                            std::int64_t if_absent);
double config_number(const nlohmann::json& object, const char* key, double lo, double hi);
double config_number(const nlohmann::json& object, const char* key, double lo, double hi, double if_absent);
bool config_boolean(const nlohmann::json& object, const char* key, bool if_absent);

// A value as a message quotes it: cut to a readable length.
std::string config_text(const nlohmann::json& value);

}  // namespace rlflow
