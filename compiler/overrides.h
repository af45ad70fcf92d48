// What is changed from outside: `-s address=value`, and the files of `-f`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"

namespace rlflow {

struct Override {
  std::string address;
  Origin origin = Origin::command_line;  // or overrides_file
  Span span;                             // the whole, in the command line's text or in the file
  Span address_span;
  Span value_span;
  std::string text;               // the value as typed, quotes of a file's string taken off
  bool is_text = true;            // false: a number, true, false or a list of a file, which is no text
  bool is_escaped = false;        // a file's string with escapes: good as text only
  std::optional<ast::Expr> expr;  // set at the latest by Overrides::value; nullopt if it could not be read
  bool used = false;
};

// Every place that can be overridden asks for its address with `take`, so what is left over names nothing.
class Overrides {
 public:
  // Those of a file; they give way to what is added or read later.
  void add(std::vector<Override> list);
  // Adds the command line to `sources` if there are overrides.
  void read(const std::vector<std::string>& texts, SourceMap& sources, Diagnostics& diagnostics);

  // The override of this address, or null; marks it used. `describe` tells what the address is for.
  const Override* take(const std::string& address, const std::string& what);
  // Says more about an address that was taken.
  void describe(const std::string& address, const std::string& what) { offered_[address] = what; }
  // Parses the value as an expression; null where it cannot be read (reported).
  const ast::Expr* value(const Override& of, const SourceMap& sources, Diagnostics& diagnostics);

  void report_unused(Diagnostics& diagnostics) const;
  // What holds in the end, as "address=value" by address: a run records it.
  std::vector<std::string> texts() const;

 private:
  std::map<std::string, Override> by_address_;
  std::map<std::string, std::string> offered_;  // address -> what it is
};

bool is_override_address(std::string_view text);

}  // namespace rlflow
