// Bounded reads of single keys of a config.json.
#include "nodes/format/config_keys.h"

#include "nodes/format/format_error.h"

namespace rlflow {

using Json = nlohmann::json;

const Json* config_value(const Json& object, const char* key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Invalid bytes cannot stand here: the text was read as strict JSON. A cut may fall inside a character.
std::string config_text(const Json& value) { return value.dump(-1, ' ', true).substr(0, 80); }

std::int64_t config_integer(const Json& object, const char* key, std::int64_t lo, std::int64_t hi) {
  const Json* value = config_value(object, key);
  if (!value) throw FormatError(std::string("config.json: has no ") + key);
  if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) ||
      value->get<std::int64_t>() < lo || value->get<std::int64_t>() > hi) {
    throw FormatError(std::string("config.json: ") + key + " is " + config_text(*value) +
                      ", it must be a whole number from " + std::to_string(lo) + " to " + std::to_string(hi));
  }
  return value->get<std::int64_t>();
}

std::int64_t config_integer(const Json& object, const char* key, std::int64_t lo, std::int64_t hi,
                            std::int64_t if_absent) {
  return config_value(object, key) ? config_integer(object, key, lo, hi) : if_absent;
}

double config_number(const Json& object, const char* key, double lo, double hi) {
  const Json* value = config_value(object, key);
  if (!value) throw FormatError(std::string("config.json: has no ") + key);
  if (!value->is_number() || !(value->get<double>() >= lo) || !(value->get<double>() <= hi)) {
    throw FormatError(std::string("config.json: ") + key + " is " + config_text(*value) +
                      ", it must be a number from " + Json(lo).dump() + " to " + Json(hi).dump());
  }
  return value->get<double>();
}

double config_number(const Json& object, const char* key, double lo, double hi, double if_absent) {
  return config_value(object, key) ? config_number(object, key, lo, hi) : if_absent;
}

bool config_boolean(const Json& object, const char* key, bool if_absent) {
  const Json* value = config_value(object, key);
  if (!value) return if_absent;
  if (!value->is_boolean()) throw FormatError(std::string("config.json: ") + key + " is not true or false");
  return value->get<bool>();
}

}  // namespace rlflow
