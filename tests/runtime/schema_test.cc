// Does SQLite itself find the tables of a run sound?
#include "runtime/store/schema.h"

#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace rlflow {
namespace {

// SQLite 3.40's quick_check reports a NULL in any column that stands in front of the key of such a table.
TEST(Schema, KeyColumnsStandFirstInTablesWithoutRowId) {
  testing::ScratchFolder folder("schema-order");
  Database database(folder.path() + "/state.db", Database::Mode::create);
  create_schema(database);
  int tables = 0;
  Statement names =
      database.prepare("SELECT name FROM sqlite_master WHERE type='table' AND sql LIKE '%WITHOUT ROWID%'");
  while (names.step()) {
    ++tables;
    Statement columns = database.query("SELECT name,pk FROM pragma_table_info(?1) ORDER BY cid", names.text_at(0));
    bool key_is_over = false;
    while (columns.step()) {
      bool in_key = columns.int_at(1) > 0;
      EXPECT_FALSE(in_key && key_is_over) << names.text_at(0) << "." << columns.text_at(0);
      key_is_over = key_is_over || !in_key;
    }
  }
  EXPECT_GE(tables, 8);
}

TEST(Schema, QuickCheckOfATableWithAnEdgeIsOk) {
  testing::ScratchFolder folder("schema-edge");
  Database database(folder.path() + "/state.db", Database::Mode::create);
  create_schema(database);
  for (const char* node : {"batch", "traj"}) {
    database.run("INSERT INTO tasks(node,step,slot,ports,state,failures) VALUES(?1,1,0,1,'admitted',0)",
                 std::string_view(node));
  }
  database.run("INSERT INTO edges(src,src_port,dst,dst_port,ord) VALUES(1,0,2,1,0)");
  Statement check = database.prepare("PRAGMA quick_check");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.text_at(0), "ok");
}

// What the schema itself refuses, whatever the program above it does.
class Refusals : public ::testing::Test {
 protected:
  void SetUp() override {
    create_schema(database_);
    database_.execute("PRAGMA foreign_keys=ON");
    // Artifact 1 is live; task 1 is an admitted update of step 1 with one output.
    database_.execute("INSERT INTO artifacts VALUES(x'" + digest('1') +
                      "','metrics',3,'live');"
                      "INSERT INTO artifacts VALUES(x'" +
                      digest('2') +
                      "','traj',3,'condemned');"
                      "INSERT INTO versions VALUES('policy',0,NULL,NULL,NULL,'init',0,0,x'" +
                      weights('a') + "',x'" + digest('3') + "',NULL,x'" + digest('1') +
                      "');"
                      "INSERT INTO heads VALUES('policy',0);"
                      "INSERT INTO steps VALUES(0,0);"
                      "INSERT INTO tasks(id,node,step,slot,ports,state,failures) VALUES(1,'step',1,0,1,'admitted',0)");
  }
  static std::string digest(char c) { return std::string(64, c); }
  static std::string weights(char c) { return std::string(32, c); }
  std::string version(const std::string& outcome, int applied, char weight) const {
    return "INSERT INTO versions VALUES('policy',1,0,1,x'" + digest('1') + "','" + outcome + "'," +
           std::to_string(applied) + ",1,x'" + weights(weight) + "',x'" + digest('4') + "',NULL,NULL)";
  }
  void finish_update() {
    database_.execute("INSERT INTO outputs VALUES(1,0,x'" + digest('1') + "')");
    database_.execute("UPDATE tasks SET state='done', key=x'" + digest('5') + "' WHERE id=1");
  }
  void refused(const std::string& sql) { EXPECT_THROW(database_.execute(sql), StoreError) << sql; }

  testing::ScratchFolder folder_{"schema-refusals"};
  Database database_{folder_.path() + "/state.db", Database::Mode::create};
};

TEST_F(Refusals, AVersionWithoutItsFinishedUpdate) {
  refused(version("applied", 1, 'b'));
  finish_update();
  database_.execute(version("applied", 1, 'b'));
}

TEST_F(Refusals, ASecondCommitOfAVersion) {
  finish_update();
  database_.execute(version("applied", 1, 'b'));
  refused(version("applied", 1, 'c'));
  refused("UPDATE versions SET wdigest=x'" + weights('c') + "' WHERE version=1");
}

TEST_F(Refusals, AnOutputThatIsNotLive) {
  refused("INSERT INTO outputs VALUES(1,0,x'" + digest('2') + "')");
  refused("INSERT INTO outputs VALUES(1,0,x'" + digest('9') + "')");
}

TEST_F(Refusals, ADoneTaskWithoutKeyOrOutputs) {
  refused("UPDATE tasks SET state='done', key=x'" + digest('5') + "' WHERE id=1");
  database_.execute("INSERT INTO outputs VALUES(1,0,x'" + digest('1') + "')");
  refused("UPDATE tasks SET state='done' WHERE id=1");
  refused("INSERT INTO tasks(node,step,slot,ports,key,state,failures) VALUES('x',1,0,0,x'" + digest('5') +
          "','done',0)");
}

TEST_F(Refusals, AFinishedTaskThatChanges) {
  finish_update();
  refused("UPDATE tasks SET state='failed' WHERE id=1");
  refused("UPDATE outputs SET digest=x'" + digest('2') + "' WHERE task=1");
}

TEST_F(Refusals, ASkippedVersionWithOtherWeights) {
  finish_update();
  refused(version("skipped", 0, 'b'));
  database_.execute(version("skipped", 0, 'a'));
}

TEST_F(Refusals, AHeadThatJumpsAndAStepOutOfOrder) {
  finish_update();
  database_.execute(version("applied", 1, 'b'));
  refused("UPDATE heads SET head=2");
  database_.execute("UPDATE heads SET head=1");
  refused("INSERT INTO steps VALUES(2,1.0)");
  database_.execute("INSERT INTO steps VALUES(1,1.0)");
}

TEST_F(Refusals, AStepWithAnUnfinishedTask) { refused("INSERT INTO steps VALUES(1,1.0)"); }

TEST_F(Refusals, MetricsWithBothOrNeitherValue) {
  refused("INSERT INTO metrics VALUES(1,'step','loss','policy',1,NULL,NULL)");
  refused("INSERT INTO metrics VALUES(1,'step','loss','policy',1,0.5,'nan')");
  database_.execute("INSERT INTO metrics VALUES(1,'step','loss','policy',1,NULL,'nan')");
}

}  // namespace
}  // namespace rlflow
