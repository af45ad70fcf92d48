// What a name stands for in one file: its own declarations and, under their alias, those of its imports.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/contract/span.h"

namespace rlflow {

enum class SymbolKind { param, group, model, replica, data, reward, output, import, broken };

struct Symbol {
  SymbolKind kind = SymbolKind::broken;
  std::int32_t index = -1;  // into the pipeline's list of that kind; of an output its node
  std::int32_t port = 0;    // of an output
  Span span;                // the name where it was defined
};

// "a parameter", "a model", …
const char* noun_of(SymbolKind kind);
const char* plural_of(SymbolKind kind);

struct Scope {
  std::map<std::string, Symbol> names;
  std::map<std::string, Symbol> unread;         // broken symbols: what may be defined in text that could not be read
  std::set<SymbolKind> doubled;                 // kinds of definitions whose name was taken
  mutable std::set<std::string> missed;         // names that were told not to be there
  std::map<std::string, Span> declared;         // the place of every declaration, also of those not read yet
  std::map<std::string, const Scope*> imports;  // by alias; every scope of a program outlives its users

  // Null where there is no such name. "gsm.train" looks for `train` in the import `gsm`. What may be defined where
  // nothing could be read is broken, so that a message has one cause.
  const Symbol* find(const std::string& dotted) const;
  // Whether a name that is not found has a cause that is told elsewhere. It may be what a definition of this kind with
  // a taken name should have been called, or it was missed before; where it is close to a candidate, each use is
  // mended.
  bool is_told_elsewhere(SymbolKind kind, const std::string& name, const std::vector<std::string>& candidates) const;
  // Every name of this kind, as it would be written here.
  std::vector<std::string> names_of(SymbolKind kind) const;
};

}  // namespace rlflow
