// JSON on the standard output.
#include "cli/json_output.h"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

namespace rlflow {

void print_json(const nlohmann::json& object) {
  std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

nlohmann::json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace rlflow
