// How the store fails: one exception that carries the exit code and the next action.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/contract/run_api.h"

namespace rlflow {

// Damaged, locked, newer than the program, unwritable. `what()` is one line naming path and cause.
struct StoreError : std::runtime_error {
  StoreError(ExitCode exit_code, std::string id, const std::string& message, std::string next_action)
      : std::runtime_error(message), code(exit_code), code_id(std::move(id)), help(std::move(next_action)) {}

  ExitCode code;
  std::string code_id;  // "R0301" …
  std::string help;     // the next action
};

}  // namespace rlflow
