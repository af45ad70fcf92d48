// Which checkpoints may go, and the first stage of letting them go.
#include <set>

#include "runtime/store/record_queries.h"
#include "runtime/store/schema.h"
#include "runtime/store/task_store.h"

namespace rlflow {
namespace {

// Manifests of written checkpoints, newest first; version 0 lies in its source files and is none of them.
std::vector<Digest> checkpoints_newest_first(Database& database) {
  std::vector<Digest> manifests;
  Statement rows = database.prepare(
      "SELECT ckpt FROM versions WHERE ckpt IS NOT NULL AND version>0 GROUP BY ckpt ORDER BY max(version) DESC");
  while (rows.step()) manifests.push_back(rows.digest_at(0));
  return manifests;
}

std::set<Digest> kept_checkpoints(Database& database, const std::vector<Digest>& newest_first,
                                  const Retention& retention) {
  std::set<Digest> kept;
  for (const Digest& manifest : newest_first) {
    if (static_cast<std::int64_t>(kept.size()) < retention.keep) kept.insert(manifest);
  }
  if (retention.every > 0) {
    Statement divided =
        database.query("SELECT ckpt FROM versions WHERE ckpt IS NOT NULL AND version%?1=0", retention.every);
    while (divided.step()) kept.insert(divided.digest_at(0));
  }
  for (const auto& [model, version] : retention.needed) {
    auto newest = find_version(database, model, newest_checkpoint(database, model, version));
    if (newest && newest->checkpoint) kept.insert(*newest->checkpoint);
  }
  // Of a fork, those that it began with: what its parent made is never redone, so they are to it what version 0 is.
  Statement origins = database.prepare(
      "SELECT ckpt FROM versions AS v,run WHERE ckpt IS NOT NULL AND version<=parent_step AND NOT EXISTS(SELECT 1 FROM "
      "versions AS w WHERE w.model=v.model AND w.version>v.version AND w.version<=parent_step AND w.ckpt IS NULL)");
  while (origins.step()) kept.insert(origins.digest_at(0));
  return kept;
}

void condemn(Database& database, const Digest& digest) {
  database.run(
      "UPDATE artifacts SET state='condemned' WHERE digest=?1 AND state='live' "
      "AND NOT EXISTS(SELECT 1 FROM outputs WHERE outputs.digest=?1) "
      "AND NOT EXISTS(SELECT 1 FROM versions WHERE ckpt=?1 OR batch=?1) "
      "AND NOT EXISTS(SELECT 1 FROM members JOIN artifacts AS m ON m.digest=manifest WHERE part=?1 AND m.state='live')",
      digest);
}

}  // namespace

std::vector<Digest> TaskStore::condemn_checkpoints(const Retention& retention) {
  std::vector<Digest> all = checkpoints_newest_first(database_);
  std::set<Digest> kept = kept_checkpoints(database_, all, retention);
  for (const Digest& manifest : all) {
    if (kept.contains(manifest)) continue;
    std::vector<ModelRead> held_by;
    Statement rows = database_.query("SELECT model,version FROM versions WHERE ckpt=?1", manifest);
    while (rows.step()) held_by.push_back({rows.text_at(0), rows.int_at(1)});
    for (const ModelRead& at : held_by) {
      database_.run("UPDATE versions SET ckpt=NULL WHERE model=?1 AND version=?2", at.model, at.version);
    }
    condemn(database_, manifest);
    std::vector<Digest> parts;
    Statement members = database_.query("SELECT part FROM members WHERE manifest=?1", manifest);
    while (members.step()) parts.push_back(members.digest_at(0));
    for (const Digest& part : parts) condemn(database_, part);
  }
  return condemned();
}

std::vector<Digest> TaskStore::condemned() {
  std::vector<Digest> digests;
  Statement rows = database_.prepare("SELECT digest FROM artifacts WHERE state='condemned' ORDER BY digest");
  while (rows.step()) digests.push_back(rows.digest_at(0));
  return digests;
}

void TaskStore::mark_gone(const Digest& digest) {
  database_.run("UPDATE artifacts SET state='gone' WHERE digest=?1 AND state='condemned'", digest);
}

}  // namespace rlflow
