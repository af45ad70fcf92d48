// What of a program can `-s` and `-f` change, and what is it now?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/contract/signature.h"

namespace rlflow {

struct Adjustable {
  std::string address;
  std::string type;          // as of a param: "int", "tokens"; "range", "list", "call", "devices" besides
  std::optional<double> lo;  // included, unless lo_open
  std::optional<double> hi;  // included
  bool lo_open = false;
  std::vector<std::string> choices;  // all that may stand there, or may stand there besides a number
  std::optional<std::string> value;  // in the program's syntax
  Origin origin = Origin::fallback;
  Span place;  // where the value stands; invalid for a default
  std::string doc;
};

// In the order of the program: params, declarations, nodes, `stop`.
std::vector<Adjustable> adjustables(const Analysis& analysis, const Catalog& catalog);

}  // namespace rlflow
