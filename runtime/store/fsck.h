// Is a store sound? The quick checks made at each open.
#pragma once

#include <string>
#include <vector>

#include "runtime/store/artifact_store.h"
#include "runtime/store/database.h"

namespace rlflow {

// Every problem in the rows, one line each: SQLite's own checks, row sums, gapless versions, outputs of done tasks,
// a restorable checkpoint of each model. Empty if sound.
std::vector<std::string> check_rows(Database& database);
// Throws StoreError naming the first problem and how many there are.
void require_sound(Database& database);
// Live artifacts whose file is missing or has another size, one line each. What still needs one is told when it is
// read.
std::vector<std::string> check_files(Database& database, const ArtifactStore& artifacts);

}  // namespace rlflow
