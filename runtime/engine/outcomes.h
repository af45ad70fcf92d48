// How does an exception that ends a call of the engine become an Outcome?
#pragma once

#include <exception>
#include <functional>

#include "runtime/store/store_error.h"

namespace rlflow {

inline Outcome caught(const std::function<Outcome()>& work) {
  try {
    return work();
  } catch (const StoreError& error) {
    return {error.code, error.code_id, error.what(), error.help, {}};
  } catch (const std::exception& error) {  // a model or data file that the node library refuses
    return {ExitCode::no, "R0303", error.what(), "fix or replace what the message names", {}};
  }
}

}  // namespace rlflow
