// A project folder with the tiny model and a program of three steps, in which verbs on runs are tested.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/store/database.h"
#include "tests/cli/program_under_test.h"

namespace rlflow::testing {

// The folder lives as long as the tests of one suite; each test makes or copies the runs it spoils.
template <class Suite>
class TinyRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>("tiny-runs");
    std::filesystem::create_directories(path("models"));
    std::filesystem::copy(std::string(RLFLOW_SOURCE_DIR) + "/models/tiny", path("models/tiny"));
    write_file(path("p.rlflow"), kTinyProgram);
    Suite::make_runs();
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static void make_runs() {}

  static std::string path(const std::string& below) { return folder_->path() + "/" + below; }
  static ProcessResult run(const std::vector<std::string>& arguments) { return rlflow(arguments, folder_->path()); }
  static void must(const std::vector<std::string>& arguments) {
    ProcessResult result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << arguments.front() << "\n" << result.out << result.err;
  }
  static std::string run_dir(const std::string& name) { return path("runs/" + name); }
  static void copy_run(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(run_dir(to));
    std::filesystem::copy(run_dir(from), run_dir(to), std::filesystem::copy_options::recursive);
  }
  // As the store itself would change it; another program's change is `change_outside`.
  static Database open(const std::string& name) { return Database(run_dir(name) + "/state.db", Database::Mode::write); }
  static void change_outside(const std::string& name, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((run_dir(name) + "/state.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  // The file of an output.
  static std::string artifact_of(const std::string& name, const std::string& node, int step) {
    Database database(run_dir(name) + "/state.db", Database::Mode::read);
    std::string digest = database.text("SELECT lower(hex(digest)) FROM outputs JOIN tasks ON id=task WHERE node='" +
                                       node + "' AND step=" + std::to_string(step) + " ORDER BY port");
    return run_dir(name) + "/artifacts/" + digest.substr(0, 2) + "/" + digest;
  }

  static inline std::unique_ptr<ScratchFolder> folder_;
};

}  // namespace rlflow::testing
