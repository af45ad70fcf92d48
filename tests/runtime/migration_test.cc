// Does an older store come to a newer schema whole or not at all, with a backup?
#include "runtime/store/migration.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <map>

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

const std::int64_t kNext = kSchemaVersion + 1;

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    make_first_version(base_ / "old");
    testing::copy_folder(base_ / "old", run_dir_);
  }
  // store_v1 is a run of two steps that a program of schema version 1 wrote and that was killed in its second step.
  static void make_first_version(const fs::path& run_dir) {
    fs::copy(RLFLOW_STORE_V1, run_dir, fs::copy_options::recursive);
    for (const char* room : {"tmp", "log"}) fs::create_directory(run_dir / room);
    std::ifstream stream(run_dir / "state.sql");
    const std::string sql{std::istreambuf_iterator<char>(stream), {}};
    sqlite3* plain = nullptr;
    ASSERT_EQ(sqlite3_open((run_dir / kDatabaseName).c_str(), &plain), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(plain, ("PRAGMA journal_mode=WAL;" + sql).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(plain);
    sqlite3_close(plain);
    fs::remove(run_dir / "state.sql");
  }
  static Plan plan() {
    testing::PlanShape shape;
    shape.steps = 2;
    return testing::fake_plan(shape);
  }
  // All that there are, and two of a program that is to come: a column and a table.
  static std::vector<Migration> with_later() {
    std::vector<Migration> steps(migrations().begin(), migrations().end());
    steps.push_back({kNext, [](Database& database) {
                       database.execute("ALTER TABLE steps ADD COLUMN joules REAL NOT NULL DEFAULT 0");
                     }});
    steps.push_back(
        {kNext + 1, [](Database& database) { database.execute("CREATE TABLE hosts(name TEXT PRIMARY KEY) STRICT"); }});
    return steps;
  }
  void bring(std::span<const Migration> steps, FileLayer& files) {
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

TEST_F(MigrationTest, ARunOfTheFirstVersionGoesOnToTheSameBits) {
  ASSERT_EQ(testing::run_fake(plan(), base_ / "whole").code, ExitCode::yes);
  Outcome outcome = testing::run_fake(plan(), run_dir_, true);
  ASSERT_EQ(outcome.code, ExitCode::yes) << outcome.message;
  EXPECT_EQ(testing::trace_of(run_dir_), testing::trace_of(base_ / "whole"));
  EXPECT_EQ(number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%sum%'"), 0);
  EXPECT_EQ(number("PRAGMA user_version", "state.db.v1"), 1);
  EXPECT_TRUE(Database(run_dir_ / kDatabaseName, Database::Mode::read).pages_summed());
  FsckReport report = fsck(files_, run_dir_, true);
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  EXPECT_TRUE(report.strays.empty()) << "the backup is the run's own";
}

TEST_F(MigrationTest, LeavesTheSchemaOfAFreshRun) {
  bring(migrations(), files_);
  ASSERT_EQ(testing::run_fake(plan(), base_ / "fresh").code, ExitCode::yes);
  auto schema_of = [](const fs::path& run_dir) {
    Database database(run_dir / kDatabaseName, Database::Mode::read);
    std::map<std::string, std::string> texts;
    Statement rows = database.prepare("SELECT type||' '||name,coalesce(sql,'') FROM sqlite_master");
    while (rows.step()) {
      std::string text = rows.text_at(1);
      std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });  // a dropped column leaves its line end
      texts[rows.text_at(0)] = text;
    }
    return texts;
  };
  EXPECT_EQ(schema_of(run_dir_), schema_of(base_ / "fresh"));
}

TEST_F(MigrationTest, TheFirstVersionIsReadAsOneToBeBroughtUpToDate) {
  Database database(run_dir_ / kDatabaseName, Database::Mode::read);
  EXPECT_FALSE(database.pages_summed());
  EXPECT_THROW(check_schema(database), StoreError);
}

TEST_F(MigrationTest, GoesThroughEveryVersionAndKeepsABackup) {
  bring(with_later(), files_);
  EXPECT_EQ(number("PRAGMA user_version"), kNext + 1);
  EXPECT_EQ(number("SELECT count(*) FROM steps WHERE joules=0"), number("SELECT count(*) FROM steps", "state.db.v1"));
  EXPECT_EQ(number("PRAGMA user_version", "state.db.v1"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM tasks"), number("SELECT count(*) FROM tasks", "state.db.v1"));
}

TEST_F(MigrationTest, OfAStoreOfThisVersionDoesNothing) {
  bring(migrations(), files_);
  fs::remove(run_dir_ / "state.db.v1");
  bring(migrations(), files_);
  EXPECT_FALSE(fs::exists(run_dir_ / "state.db.v1"));
  EXPECT_FALSE(fs::exists(run_dir_ / ("state.db.v" + std::to_string(kSchemaVersion))));
}

TEST_F(MigrationTest, AStepThatFailsLeavesTheOldVersion) {
  std::vector<Migration> steps = with_later();
  steps.back().change = [](Database& database) { database.execute("INSERT INTO nowhere VALUES(1)"); };
  EXPECT_THROW(bring(steps, files_), StoreError);
  EXPECT_EQ(number("PRAGMA user_version"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM tasks"), number("SELECT count(*) FROM tasks", "state.db.v1"));
}

TEST_F(MigrationTest, AKillAtAnyPointLeavesOneVersionOrTheOther) {
  testing::Work work = [&](FileLayer& files) {
    return caught([&] {
      bring(with_later(), files);
      return Outcome{};
    });
  };
  std::vector<std::string> points = testing::points_of(base_, work);
  int old = 0;
  for (std::size_t number_of = 1; number_of <= points.size(); ++number_of) {
    testing::copy_folder(base_ / "old", run_dir_);
    ASSERT_TRUE(testing::die_at(base_, work, static_cast<std::int64_t>(number_of)));
    std::int64_t version = number("PRAGMA user_version");
    EXPECT_TRUE(version == 1 || version == kNext + 1) << points[number_of - 1];
    old += version == 1 ? 1 : 0;
    bring(with_later(), files_);
    EXPECT_EQ(number("PRAGMA user_version"), kNext + 1) << points[number_of - 1];
    EXPECT_EQ(number("PRAGMA user_version", "state.db.v1"), 1) << points[number_of - 1];
    EXPECT_EQ(Database(run_dir_ / kDatabaseName, Database::Mode::read).text("PRAGMA integrity_check"), "ok");
  }
  std::printf("kill during migration: %zu points tried, %d left the old version\n", points.size(), old);
  EXPECT_GT(points.size(), 10u);
}

TEST_F(MigrationTest, ANewerStoreIsRefused) {
  bring(migrations(), files_);
  {
    Database database(run_dir_ / kDatabaseName, Database::Mode::write);
    database.execute("PRAGMA user_version=" + std::to_string(kNext));
    migrate(files_, database);
  }
  EXPECT_EQ(number("PRAGMA user_version"), kNext);
  Outcome outcome = testing::run_fake(plan(), run_dir_, true);
  EXPECT_EQ(outcome.code, ExitCode::store_damaged);
  EXPECT_EQ(outcome.code_id, "R0204");
}

}  // namespace
}  // namespace rlflow
