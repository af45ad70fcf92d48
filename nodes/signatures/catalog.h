// What may stand in a program: every node kind, built-in data and reward, and the settings of declarations.
#pragma once

#include "runtime/contract/signature.h"

namespace rlflow {

// Built afresh by each call; cheap (a few hundred small tables). Defaults, ranges and one-line docs have their only
// source here. What has `runs = false` is checked and planned but refused by `run`.
Catalog catalog();

}  // namespace rlflow
