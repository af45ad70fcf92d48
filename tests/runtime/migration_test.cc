// Does an older store come to a newer schema whole or not at all, with a backup?
#include "runtime/store/migration.h"

#include <gtest/gtest.h>

#include "runtime/engine/outcomes.h"
#include "runtime/store/fsck.h"
#include "runtime/store/run_directory.h"
#include "runtime/store/schema.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::PlanShape shape;
    shape.steps = 2;
    ASSERT_EQ(testing::run_fake(testing::fake_plan(shape), base_ / "old").code, ExitCode::yes);
    testing::copy_folder(base_ / "old", run_dir_);
  }
  // Two steps of a program that is to come: a column that the sum covers, and a table.
  static std::vector<Migration> to_three() {
    return {{2,
             [](Database& database) {
               database.execute("ALTER TABLE steps ADD COLUMN joules REAL NOT NULL DEFAULT 0");
               database.execute("UPDATE steps SET sum=row_sum(step,ms,joules)");
             }},
            {3, [](Database& database) { database.execute("CREATE TABLE hosts(name TEXT PRIMARY KEY) STRICT"); }}};
  }
  void bring(const std::vector<Migration>& steps, FileLayer& files) {
    Database database(run_dir_ / kDatabaseName, Database::Mode::write);
    migrate(files, database, steps);
  }
  std::int64_t number(const std::string& sql, const char* file = kDatabaseName) {
    return Database(run_dir_ / file, Database::Mode::read).number(sql);
  }

  testing::ScratchFolder folder_{"migration"};
  fs::path base_ = fs::canonical(folder_.path());
  fs::path run_dir_ = base_ / "run";
  PosixFiles files_;
};

TEST_F(MigrationTest, GoesThroughEveryVersionAndKeepsABackup) {
  bring(to_three(), files_);
  EXPECT_EQ(number("PRAGMA user_version"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM steps WHERE joules=0 AND sum IS row_sum(step,ms,joules)"), 3);
  EXPECT_EQ(number("PRAGMA user_version", "state.db.v1"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM steps WHERE sum IS row_sum(step,ms)", "state.db.v1"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM tasks"), number("SELECT count(*) FROM tasks", "state.db.v1"));
}

TEST_F(MigrationTest, OfAStoreOfThisVersionDoesNothing) {
  bring({}, files_);
  std::vector<Migration> steps = to_three();
  bring(steps, files_);
  fs::remove(run_dir_ / "state.db.v1");
  bring(steps, files_);
  EXPECT_FALSE(fs::exists(run_dir_ / "state.db.v3"));
}

TEST_F(MigrationTest, AStepThatFailsLeavesTheOldVersion) {
  std::vector<Migration> steps = to_three();
  steps[1].change = [](Database& database) { database.execute("INSERT INTO nowhere VALUES(1)"); };
  EXPECT_THROW(bring(steps, files_), StoreError);
  EXPECT_EQ(number("PRAGMA user_version"), 1);
  EXPECT_TRUE(fsck(files_, run_dir_, true).problems.empty());
  EXPECT_TRUE(fsck(files_, run_dir_, true).strays.empty()) << "the backup is the run's own";
}

TEST_F(MigrationTest, AKillAtAnyPointLeavesOneVersionOrTheOther) {
  testing::Work work = [&](FileLayer& files) {
    return caught([&] {
      bring(to_three(), files);
      return Outcome{};
    });
  };
  std::vector<std::string> points = testing::points_of(base_, work);
  int old = 0;
  for (std::size_t number_of = 1; number_of <= points.size(); ++number_of) {
    testing::copy_folder(base_ / "old", run_dir_);
    ASSERT_TRUE(testing::die_at(base_, work, static_cast<std::int64_t>(number_of)));
    std::int64_t version = number("PRAGMA user_version");
    EXPECT_TRUE(version == 1 || version == 3) << points[number_of - 1];
    old += version == 1 ? 1 : 0;
    bring(to_three(), files_);
    EXPECT_EQ(number("PRAGMA user_version"), 3) << points[number_of - 1];
    EXPECT_EQ(number("PRAGMA user_version", "state.db.v1"), 1) << points[number_of - 1];
  }
  std::printf("kill during migration: %zu points tried, %d left the old version\n", points.size(), old);
  EXPECT_GT(points.size(), 10u);
}

TEST_F(MigrationTest, ANewerStoreIsRefused) {
  {
    Database database(run_dir_ / kDatabaseName, Database::Mode::write);
    database.execute("PRAGMA user_version=2");
    migrate(files_, database);
  }
  EXPECT_EQ(number("PRAGMA user_version"), 2);
  testing::PlanShape shape;
  shape.steps = 2;
  Outcome outcome = testing::run_fake(testing::fake_plan(shape), run_dir_, true);
  EXPECT_EQ(outcome.code, ExitCode::store_damaged);
  EXPECT_EQ(outcome.code_id, "R0204");
}

}  // namespace
}  // namespace rlflow
