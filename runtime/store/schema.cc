// The tables of a run, and the guarantees that hold whatever the program above them does.
#include "runtime/store/schema.h"

namespace rlflow {
namespace {

// A CHECK says `x='a' OR x='b' OR x='c'`, not `x IN('a','b','c')`: SQLite builds a temporary table for three or more,
// anew for each row written, which took half of the time of a task.
constexpr const char* kRunTables = R"sql(
CREATE TABLE run(
  id INTEGER PRIMARY KEY CHECK(id=1), name TEXT NOT NULL, flow TEXT NOT NULL, command TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state='running' OR state='paused' OR state='stopped' OR state='done' OR state='failed'),
  reason TEXT NOT NULL,
  epoch INTEGER NOT NULL CHECK(epoch>=1), seed INTEGER NOT NULL,
  meaning BLOB NOT NULL CHECK(length(meaning)=32), root TEXT NOT NULL, total INTEGER NOT NULL,
  created_ms INTEGER NOT NULL, parent TEXT, parent_step INTEGER) STRICT;
CREATE TRIGGER run_epoch BEFORE UPDATE OF epoch ON run WHEN NEW.epoch!=OLD.epoch+1
  BEGIN SELECT RAISE(ABORT,'an epoch follows its predecessor'); END;
CREATE TABLE program(
  ord INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('source','override')), path TEXT NOT NULL,
  text TEXT NOT NULL) STRICT;
CREATE TABLE environment(
  epoch INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(epoch,name)) STRICT, WITHOUT ROWID;
CREATE TABLE files(
  path TEXT PRIMARY KEY, digest BLOB NOT NULL CHECK(length(digest)=32), bytes INTEGER NOT NULL) STRICT;
CREATE TABLE artifacts(
  digest BLOB PRIMARY KEY CHECK(length(digest)=32), kind TEXT NOT NULL, bytes INTEGER NOT NULL CHECK(bytes>=0),
  state TEXT NOT NULL CHECK(state='live' OR state='condemned' OR state='gone')) STRICT;
CREATE TABLE members(
  manifest BLOB NOT NULL REFERENCES artifacts, name TEXT NOT NULL, part BLOB NOT NULL REFERENCES artifacts,
  PRIMARY KEY(manifest,name)) STRICT, WITHOUT ROWID;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, epoch INTEGER NOT NULL, mono INTEGER NOT NULL, wall INTEGER NOT NULL,
  kind TEXT NOT NULL, task INTEGER REFERENCES tasks, data TEXT NOT NULL) STRICT;
)sql";

constexpr const char* kTaskTables = R"sql(
CREATE TABLE tasks(
  id INTEGER PRIMARY KEY, node TEXT NOT NULL, step INTEGER NOT NULL CHECK(step>=0),
  slot INTEGER NOT NULL CHECK(slot>=0), ports INTEGER NOT NULL CHECK(ports>=0), key BLOB CHECK(length(key)=32),
  state TEXT NOT NULL CHECK(state='admitted' OR state='done' OR state='skipped' OR state='failed' OR state='cancelled'),
  failures INTEGER NOT NULL CHECK(failures>=0), err TEXT,
  UNIQUE(node,step,slot), CHECK(state!='done' OR key IS NOT NULL)) STRICT;
CREATE INDEX tasks_step ON tasks(step);
CREATE TABLE outputs(
  task INTEGER NOT NULL REFERENCES tasks, port INTEGER NOT NULL, digest BLOB NOT NULL REFERENCES artifacts,
  PRIMARY KEY(task,port)) STRICT, WITHOUT ROWID;
CREATE TABLE edges( -- key columns first: SQLite 3.40 takes others in front of them for NULL in its quick_check
  dst INTEGER NOT NULL REFERENCES tasks, dst_port INTEGER NOT NULL, ord INTEGER NOT NULL,
  src INTEGER NOT NULL REFERENCES tasks, src_port INTEGER NOT NULL,
  PRIMARY KEY(dst,dst_port,ord)) STRICT, WITHOUT ROWID;
CREATE TABLE reads(
  task INTEGER NOT NULL REFERENCES tasks, model TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY(task,model),
  FOREIGN KEY(model,version) REFERENCES versions) STRICT, WITHOUT ROWID;
CREATE TABLE attempts(
  task INTEGER NOT NULL REFERENCES tasks, n INTEGER NOT NULL, epoch INTEGER NOT NULL,
  ended TEXT CHECK(ended='done' OR ended='failed' OR ended='timeout' OR ended='stopped' OR ended='lost'),
  ms REAL, peak INTEGER, detail TEXT,
  PRIMARY KEY(task,n)) STRICT, WITHOUT ROWID;
CREATE TABLE decisions(
  task INTEGER NOT NULL REFERENCES tasks, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(task,name)) STRICT, WITHOUT ROWID;
CREATE TABLE metrics(
  step INTEGER NOT NULL, node TEXT NOT NULL, name TEXT NOT NULL, model TEXT, version INTEGER, value REAL,
  nonfinite TEXT CHECK(nonfinite='nan' OR nonfinite='inf' OR nonfinite='-inf'), PRIMARY KEY(step,node,name),
  CHECK((value IS NULL)!=(nonfinite IS NULL))) STRICT, WITHOUT ROWID;
CREATE TRIGGER out_live BEFORE INSERT ON outputs WHEN (SELECT state FROM artifacts WHERE digest=NEW.digest)!='live'
  BEGIN SELECT RAISE(ABORT,'output is not live'); END;
CREATE TRIGGER out_final BEFORE UPDATE ON outputs
  BEGIN SELECT RAISE(ABORT,'an output is never overwritten'); END;
CREATE TRIGGER task_born BEFORE INSERT ON tasks WHEN NEW.state!='admitted'
  BEGIN SELECT RAISE(ABORT,'a task begins as admitted'); END;
CREATE TRIGGER task_final BEFORE UPDATE OF node,step,slot,ports,key,state ON tasks
  WHEN OLD.state IN('done','skipped')
    OR (NEW.state='done' AND (SELECT count(*) FROM outputs WHERE task=NEW.id)!=NEW.ports)
  BEGIN SELECT RAISE(ABORT,'a finished task is final, and done when all its outputs are there'); END;
)sql";

constexpr const char* kVersionTables = R"sql(
CREATE TABLE versions(
  model TEXT NOT NULL, version INTEGER NOT NULL, parent INTEGER, update_task INTEGER UNIQUE REFERENCES tasks,
  batch BLOB REFERENCES artifacts,
  outcome TEXT NOT NULL
    CHECK(outcome='init' OR outcome='applied' OR outcome='partial' OR outcome='skipped' OR outcome='held'),
  applied INTEGER NOT NULL, planned INTEGER NOT NULL, wdigest BLOB NOT NULL CHECK(length(wdigest)=16),
  lineage BLOB NOT NULL CHECK(length(lineage)=32), sdigest BLOB CHECK(length(sdigest)=32),
  ckpt BLOB REFERENCES artifacts,
  PRIMARY KEY(model,version), FOREIGN KEY(model,parent) REFERENCES versions,
  CHECK((version=0)=(outcome='init')),
  CHECK(CASE outcome WHEN 'init' THEN parent IS NULL AND ckpt IS NOT NULL AND update_task IS NULL
    ELSE parent=version-1 AND update_task IS NOT NULL AND (outcome='held' OR batch IS NOT NULL) END),
  CHECK(CASE outcome WHEN 'applied' THEN applied=planned AND applied>0
    WHEN 'partial' THEN applied>0 AND applied<planned ELSE applied=0 END)) STRICT, WITHOUT ROWID;
CREATE TRIGGER version_task BEFORE INSERT ON versions WHEN NEW.update_task IS NOT NULL AND NOT EXISTS(
  SELECT 1 FROM tasks WHERE id=NEW.update_task AND step=NEW.version
    AND (state='done' OR (NEW.outcome='held' AND state='skipped')))
  BEGIN SELECT RAISE(ABORT,'a version needs its own finished update task'); END;
CREATE TRIGGER version_unchanged BEFORE INSERT ON versions WHEN NEW.outcome IN('skipped','held')
  AND NEW.wdigest!=(SELECT wdigest FROM versions WHERE model=NEW.model AND version=NEW.parent)
  BEGIN SELECT RAISE(ABORT,'a skipped or held version has the weights of its parent'); END;
CREATE TRIGGER version_final BEFORE UPDATE OF model,version,parent,update_task,batch,outcome,applied,planned,wdigest,
  lineage ON versions BEGIN SELECT RAISE(ABORT,'a version is final'); END;
CREATE TABLE heads(
  model TEXT PRIMARY KEY, head INTEGER NOT NULL, FOREIGN KEY(model,head) REFERENCES versions) STRICT, WITHOUT ROWID;
CREATE TRIGGER head_moves BEFORE UPDATE ON heads WHEN NEW.head!=OLD.head+1
  BEGIN SELECT RAISE(ABORT,'a head moves by one'); END;
CREATE TABLE steps(step INTEGER PRIMARY KEY CHECK(step>=0), ms REAL NOT NULL) STRICT;
CREATE TRIGGER step_ordered BEFORE INSERT ON steps
  WHEN NEW.step>0 AND NOT EXISTS(SELECT 1 FROM steps WHERE step=NEW.step-1)
  BEGIN SELECT RAISE(ABORT,'steps are committed in order'); END;
CREATE TRIGGER step_finished BEFORE INSERT ON steps
  WHEN EXISTS(SELECT 1 FROM tasks WHERE step=NEW.step AND state!='done' AND state!='skipped' AND state!='cancelled')
  BEGIN SELECT RAISE(ABORT,'a step is committed when its tasks are finished'); END;
)sql";

}  // namespace

void create_schema(Database& database) {
  Transaction transaction(database);
  database.execute(kRunTables);
  database.execute(kTaskTables);
  database.execute(kVersionTables);
  database.execute("PRAGMA application_id=" + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version=" + std::to_string(kSchemaVersion));
  transaction.commit();
}

void check_schema(Database& database) {
  const std::string file = "`" + database.file().string() + "`";
  if (database.number("PRAGMA application_id") != kApplicationId) {
    throw StoreError(ExitCode::store_damaged, "R0205", file + " is not the store of a run",
                     "name the folder of a run; `rlflow runs` lists them");
  }
  std::int64_t version = database.number("PRAGMA user_version");
  if (version > kSchemaVersion) {
    throw StoreError(ExitCode::store_damaged, "R0204",
                     file + " has schema version " + std::to_string(version) + ", newer than this program's " +
                         std::to_string(kSchemaVersion),
                     "use the program that made the run, or a newer one");
  }
  if (version >= 1 && version < kSchemaVersion) {
    throw StoreError(ExitCode::store_damaged, "R0204",
                     file + " has schema version " + std::to_string(version) + ", older than this program's " +
                         std::to_string(kSchemaVersion),
                     "`rlflow resume RUN` brings it up to date, after a backup");
  }
  if (version != kSchemaVersion) {
    throw StoreError(ExitCode::store_damaged, "R0205",
                     file + " has schema version " + std::to_string(version) + ", which never existed",
                     "keep the run folder as it is; restore it from a copy");
  }
}

}  // namespace rlflow
