// Which outputs and inputs of updates may go, and the first stage of letting them go.
#include <set>

#include "runtime/store/record_queries.h"
#include "runtime/store/schema.h"
#include "runtime/store/task_store.h"

namespace rlflow {
namespace {

using Digests = std::set<Digest>;

void add(Statement rows, Digests& digests) {
  while (rows.step()) digests.insert(rows.digest_at(0));
}

void add_with_parts(Database& database, const Digest& manifest, Digests& digests) {
  digests.insert(manifest);
  add(database.query("SELECT part FROM members WHERE manifest=?1", manifest), digests);
}

// Batches of one model: those of versions in [first, last].
std::vector<Digest> batches(Database& database, const std::string& model, Version first, Version last) {
  std::vector<Digest> manifests;
  Statement rows =
      database.query("SELECT batch FROM versions WHERE model=?1 AND version BETWEEN ?2 AND ?3 AND batch IS NOT NULL",
                     model, first, last);
  while (rows.step()) manifests.push_back(rows.digest_at(0));
  return manifests;
}

Digests needed_digests(Database& database, Step before, const std::map<std::string, Version>& restored_from) {
  Digests needed;
  add(database.query("SELECT digest FROM outputs JOIN tasks ON id=task WHERE step>=?1", before), needed);
  // What `prev` and a carried input of the next step read.
  add(database.query("SELECT digest FROM outputs JOIN tasks AS t ON id=task WHERE step=(SELECT max(step) FROM tasks "
                     "WHERE node=t.node AND state='done' AND step<=?1)",
                     committed_step(database)),
      needed);
  for (const auto& [model, from] : restored_from) {
    Version first = std::min<Version>(from + 1, before);
    for (const Digest& manifest : batches(database, model, first, head_of(database, model).value_or(0))) {
      add_with_parts(database, manifest, needed);
    }
  }
  std::vector<Digest> checkpoints;
  Statement rows = database.prepare("SELECT DISTINCT ckpt FROM versions WHERE ckpt IS NOT NULL");
  while (rows.step()) checkpoints.push_back(rows.digest_at(0));
  for (const Digest& manifest : checkpoints) add_with_parts(database, manifest, needed);
  return needed;
}

}  // namespace

void TaskStore::condemn_outputs(Step before, const std::map<std::string, Version>& needed) {
  before = std::min(before, committed_step(database_) + 1);
  std::map<std::string, Version> restored_from;
  for (const auto& [model, version] : needed) restored_from[model] = newest_checkpoint(database_, model, version);
  Digests old;
  add(database_.query("SELECT digest FROM outputs JOIN tasks ON id=task WHERE step<?1", before), old);
  for (const auto& [model, from] : restored_from) {
    for (const Digest& manifest : batches(database_, model, 1, std::min<Version>(from, before - 1))) {
      add_with_parts(database_, manifest, old);
    }
  }
  Digests stay = needed_digests(database_, before, restored_from);
  for (const Digest& digest : old) {
    if (stay.contains(digest)) continue;
    database_.run("UPDATE artifacts SET state='condemned' WHERE digest=?1 AND state='live'", digest);
  }
}

}  // namespace rlflow
