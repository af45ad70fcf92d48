// Which program does a verb read, and with which changes? The arguments that verbs with a program share.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace CLI {
class App;
}

namespace rlflow {

struct ProgramInput {
  std::string path;                         // "-" is the standard input
  std::vector<std::string> override_files;  // -f: paths of TOML files
  std::vector<std::string> overrides;       // -s: "address=value"
  std::vector<std::string> lints;           // -W: "unused-node=deny", names and levels known
};

// Adds -s, -f and -W.
void add_program_changes(CLI::App& app, ProgramInput& input);
// Adds FILE (required), -s, -f and -W.
void add_program_input(CLI::App& app, ProgramInput& input);

// Reads the standard input where the path is "-"; any other file is left to the compiler.
CompileRequest compile_request(const ProgramInput& input, CompileMode mode = CompileMode::check);

}  // namespace rlflow
