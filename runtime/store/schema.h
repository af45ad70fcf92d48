// What does the database of a run look like, and what does it refuse by itself?
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/store/database.h"

namespace rlflow {

inline constexpr std::int64_t kApplicationId = 0x524C464C;  // "RLFL"
inline constexpr std::int64_t kSchemaVersion = 1;

// A table whose rows carry `sum`, the row_sum of its other columns.
struct SummedTable {
  const char* name;
  const char* columns;  // all but `sum`
  const char* key;      // "id=?1"
};
extern const SummedTable kRunTable;
extern const SummedTable kProgramTable;
extern const SummedTable kFilesTable;
extern const SummedTable kArtifactsTable;
extern const SummedTable kTasksTable;
extern const SummedTable kVersionsTable;
extern const SummedTable kStepsTable;
std::span<const SummedTable* const> summed_tables();

// Makes the tables in an empty database, in one transaction, and writes application id and version.
void create_schema(Database& database);
// Throws StoreError where the file is no store, of another kind, or newer than this program.
void check_schema(Database& database);

// Recomputes `sum` of the row that `key` names; call after every insert and update of a summed table.
template <class... Key>
void seal_row(Database& database, const SummedTable& table, const Key&... key) {
  database.run("UPDATE " + std::string(table.name) + " SET sum=row_sum(" + table.columns + ") WHERE " + table.key,
               key...);
}

}  // namespace rlflow
