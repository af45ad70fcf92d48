// What the command line changes: `-s address=value`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"

namespace rlflow {

struct Override {
  std::string address;
  Span span;  // the whole, in the command line's text
  Span address_span;
  Span value_span;
  std::string text;               // the value as typed
  std::optional<ast::Expr> expr;  // set by Overrides::value; nullopt if it could not be read
  bool used = false;
};

// Every place that can be overridden asks for its address with `take`, so what is left over names nothing.
class Overrides {
 public:
  // Adds the command line to `sources` if there are overrides.
  void read(const std::vector<std::string>& texts, SourceMap& sources, Diagnostics& diagnostics);

  // The override of this address, or null; marks it used. `describe` tells what the address is for.
  const Override* take(const std::string& address, const std::string& what);
  // Says more about an address that was taken.
  void describe(const std::string& address, const std::string& what) { offered_[address] = what; }
  // Parses the value as an expression; null where it cannot be read (reported).
  const ast::Expr* value(const Override& of, const SourceMap& sources, Diagnostics& diagnostics);

  void report_unused(Diagnostics& diagnostics) const;

 private:
  std::map<std::string, Override> by_address_;
  std::map<std::string, std::string> offered_;  // address -> what it is
};

}  // namespace rlflow
