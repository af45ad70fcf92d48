// Where is each name of a program defined, and where is it used?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/scope.h"

namespace rlflow::lsp {

struct Definition {
  SymbolKind kind = SymbolKind::broken;
  std::string name;  // as its own file writes it
  Span span;         // of the name
};

struct Occurrence {
  Span span;  // of this name alone: `train` in `gsm.train`
  std::size_t definition = 0;
  bool defines = false;
};

// Names of every file of one analysis, also of a broken program. Holds no reference to the analysis.
class NameIndex {
 public:
  NameIndex(const Analysis& analysis, const Catalog& catalog);

  const Definition& definition(std::size_t index) const { return definitions_[index]; }
  const std::vector<Definition>& definitions() const { return definitions_; }
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }
  // The name that the byte stands in or directly behind; null where there is none.
  const Occurrence* at(FileId file, std::uint32_t byte) const;
  // Null where the file has no such name.
  const Definition* find(FileId file, const std::string& name) const;
  // Every name that a statement of the file may use, as it would be written there: "batch", "gsm.train".
  std::map<std::string, const Definition*> visible(FileId file) const;
  // The file that an import of file 0 reads, where the byte stands in its path.
  std::optional<FileId> imported_at(const Analysis& analysis, std::uint32_t byte) const;

 private:
  friend class NameWalk;
  void collect_visible(FileId file, const std::string& prefix, int depth,
                       std::map<std::string, const Definition*>& names) const;

  std::vector<Definition> definitions_;
  std::vector<Occurrence> occurrences_;
  std::map<FileId, std::map<std::string, std::size_t>> names_;  // the first definition of each name
  std::map<FileId, std::map<std::string, FileId>> imports_;     // by alias
};

}  // namespace rlflow::lsp
