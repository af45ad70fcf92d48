// What does the database of a run look like, and what does it refuse by itself?
#pragma once

#include <cstdint>

#include "runtime/store/database.h"

namespace rlflow {

inline constexpr std::int64_t kApplicationId = 0x524C464C;  // "RLFL"
inline constexpr std::int64_t kSchemaVersion = 3;

// Makes the tables in an empty database, in one transaction, and writes application id and version.
void create_schema(Database& database);
// Throws StoreError where the file is no store, of another kind, or newer than this program.
void check_schema(Database& database);

}  // namespace rlflow
