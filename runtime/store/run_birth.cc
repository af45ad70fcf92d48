// The first transactions of a run and of each resume.
#include "runtime/store/failpoint.h"
#include "runtime/store/schema.h"
#include "runtime/store/task_store.h"

namespace rlflow {
namespace {

void add_program(Database& database, const std::string& kind, const std::string& path, const std::string& text) {
  database.run("INSERT INTO program(kind,path,text) VALUES(?1,?2,?3)", kind, path, text);
}

void add_environment(Database& database, std::int64_t epoch, const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    database.run("INSERT INTO environment(epoch,name,value) VALUES(?1,?2,?3)", epoch, name, value);
  }
}

void add_run_row(Database& database, const NewRun& run) {
  Statement insert = database.prepare(
      "INSERT INTO run(id,name,flow,command,state,reason,epoch,seed,meaning,root,total,created_ms) "
      "VALUES(1,?,?,?,'running','',1,?,?,?,?,?)");
  insert.bind(run.name).bind(run.flow).bind(run.command);
  insert.bind(static_cast<std::int64_t>(run.seed)).bind(run.meaning).bind(run.root);
  insert.bind(run.total).bind(run.created_ms).run();
}

}  // namespace

void TaskStore::add_first_versions(const Artifact& origin, std::span<const InitialVersion> models) {
  add_artifact(origin);
  for (const InitialVersion& model : models) {
    database_.run(
        "INSERT INTO versions(model,version,outcome,applied,planned,wdigest,lineage,ckpt) "
        "VALUES(?1,0,'init',0,0,?2,?3,?4)",
        model.model, model.weights, model.lineage, origin.digest);
    database_.run("INSERT INTO heads(model,head) VALUES(?1,0)", model.model);
  }
}

void TaskStore::create_run(Database& database, const NewRun& run) {
  Transaction transaction(database);
  add_run_row(database, run);
  for (const PlanSource& source : run.sources) add_program(database, "source", source.path, source.text);
  for (const std::string& text : run.overrides) add_program(database, "override", "", text);
  add_environment(database, 1, run.environment);
  for (const HashedFile& file : run.files) {
    database.run("INSERT INTO files(path,digest,bytes) VALUES(?1,?2,?3)", file.path, file.digest,
                 static_cast<std::int64_t>(file.bytes));
  }
  TaskStore(database, 1).add_first_versions(run.origin, run.models);
  transaction.commit();
}

std::int64_t TaskStore::begin_epoch(Database& database, const std::map<std::string, std::string>& environment,
                                    Step total, const std::vector<std::string>& overrides) {
  Transaction transaction(database);
  database.run("UPDATE run SET epoch=epoch+1, state='running', reason='', total=?1 WHERE id=1", total);
  failpoint("recovery: epoch");
  std::int64_t epoch = database.number("SELECT epoch FROM run");
  add_environment(database, epoch, environment);
  database.run("DELETE FROM program WHERE kind='override'");
  for (const std::string& text : overrides) add_program(database, "override", "", text);
  database.run("UPDATE attempts SET ended='lost' WHERE ended IS NULL");
  transaction.commit();
  return epoch;
}

}  // namespace rlflow
