// How JSON from outside is read: strictly, within limits.
#include "nodes/format/json.h"

#include <set>
#include <vector>

#include "nodes/format/format_error.h"

namespace rlflow {

using Json = nlohmann::json;

nlohmann::json parse_json(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> keys;  // of each open object
  auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxJsonDepth) {
      throw FormatError(std::string(what) + ": nested deeper than " + std::to_string(kMaxJsonDepth));
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw FormatError(std::string(what) + ": key " + parsed.dump() + " stands twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    throw FormatError(std::string(what) + ": not valid JSON at byte " + std::to_string(error.byte) + ": " +
                      error.what());
  } catch (const Json::exception& error) {
    throw FormatError(std::string(what) + ": not valid JSON: " + error.what());
  }
}

bool equal_json(std::string_view a, std::string_view b) {
  if (a == b) return true;  // the usual case costs no parsing
  try {
    return parse_json(a, "") == parse_json(b, "");
  } catch (const FormatError&) {
    return false;
  }
}

std::string json_quoted(std::string_view text) { return Json(std::string(text)).dump(); }

}  // namespace rlflow
