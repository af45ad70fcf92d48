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
    database.run("INSERT INTO tasks(node,step,slot,ports,state,failures,sum) VALUES(?1,1,0,1,'admitted',0,x'')",
                 std::string_view(node));
  }
  database.run("INSERT INTO edges(src,src_port,dst,dst_port,ord) VALUES(1,0,2,1,0)");
  Statement check = database.prepare("PRAGMA quick_check");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.text_at(0), "ok");
}

}  // namespace
}  // namespace rlflow
