// Mistakes as data: edits of pipelines/tiny_grpo.rlflow with the message that each must give, word for word.
#pragma once

#include <string>
#include <vector>

#include "tests/compiler/support.h"

namespace rlflow::testing {

// A record of tests/compiler/mistakes/*.txt:
//
//   ## a group's keyword misspelt        its name
//   replace group here                   stands once in the program …
//   with grup here                       … and becomes this
//                                        an empty line; then what `rlflow check` prints
//   error[E0101]: …
//
// Other lines of the head: `everywhere A` and `with B` replace each A; `program A` makes A the whole text; `append N A`
// puts N times A behind it; `file A` checks what stands at that path; `set A` is `-s A`; `run on N gpus` is what `run`
// says on such a machine. Texts may hold \n \r \t \\ and \xNN.
struct Mistake {
  std::string name;
  std::vector<std::string> head;
  CompileRequest request;
  Cluster cluster;
  bool has_cluster = false;
};

std::vector<fs::path> mistake_files();
std::vector<Mistake> read_mistakes(const fs::path& file);
Analysis analyze_mistake(const Mistake& mistake, const Catalog& catalog);
// What the compiler says, as it stands in the files: paths begin in the project's folder.
std::string messages_of(const Analysis& analysis);

}  // namespace rlflow::testing
