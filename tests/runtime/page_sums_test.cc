// Does a database file say so when any bit of it is not what was written?
#include "runtime/store/page_sums.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <fstream>
#include <vector>

#include "runtime/store/database.h"
#include "tests/support/process.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

class PageSums : public ::testing::Test {
 protected:
  void SetUp() override {
    Database database(file_, Database::Mode::create);
    database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON t(text)");
    for (std::int64_t i = 0; i < 600; ++i) database.run("INSERT INTO t(text) VALUES(?1)", "row " + std::to_string(i));
    database.checkpoint_truncate();
  }
  static std::vector<char> bytes_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::vector<char>& bytes) const {
    std::ofstream(file_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  // What the file answers when everything in it is read: "ok", or why not.
  std::string read_all() const {
    try {
      return Database(file_, Database::Mode::read).text("PRAGMA integrity_check");
    } catch (const StoreError& error) {
      return error.what();
    }
  }

  testing::ScratchFolder folder_{"page-sums"};
  fs::path file_ = fs::path(folder_.path()) / "state.db";
};

TEST_F(PageSums, EveryBitCounts) {
  const std::vector<char> whole = bytes_of(file_);
  ASSERT_GT(whole.size(), 8u * kPageBytes);
  ASSERT_EQ(read_all(), "ok");
  // Every third byte of a page, and all pages are touched: 37 is prime to their number.
  for (std::size_t i = 0; i < kPageBytes; i += 3) {
    std::vector<char> damaged = whole;
    const std::size_t at = (i * 37 * kPageBytes + i) % whole.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (i % 8)));
    write(damaged);
    EXPECT_NE(read_all(), "ok") << "byte " << at;
  }
}

TEST_F(PageSums, NamesThePage) {
  std::vector<char> damaged = bytes_of(file_);
  damaged[kPageBytes + 100] ^= 1;  // the root of the table
  write(damaged);
  try {
    Database(file_, Database::Mode::read).number("SELECT id FROM t WHERE id=300");
    ADD_FAILURE() << "read";
  } catch (const StoreError& error) {
    EXPECT_EQ(std::string(error.what()), "`" + file_.string() + "` is damaged: page 2 is not what was written there");
    EXPECT_EQ(error.code_id, "R0205");
  }
}

TEST_F(PageSums, APageInThePlaceOfAnotherIsFound) {
  std::vector<char> damaged = bytes_of(file_);
  std::copy_n(damaged.begin() + 3 * kPageBytes, kPageBytes, damaged.begin() + 4 * kPageBytes);
  write(damaged);
  EXPECT_NE(read_all().find("Page 5: unable to get the page"), std::string::npos) << read_all();
}

TEST_F(PageSums, OtherProgramsReadTheFileAndCannotChangeItUnseen) {
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open_v2(file_.c_str(), &plain, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  auto count = [](void* sum, int, char** values, char**) {
    *static_cast<std::string*>(sum) = values[0];
    return 0;
  };
  std::string rows;
  EXPECT_EQ(sqlite3_exec(plain, "SELECT count(*) FROM t", count, &rows, nullptr), SQLITE_OK);
  EXPECT_EQ(rows, "600");
  EXPECT_EQ(sqlite3_exec(plain, "UPDATE t SET text='another' WHERE id=7", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(plain);  // moves the change into the file
  EXPECT_NE(read_all(), "ok");
}

TEST_F(PageSums, ACopyHasThem) {
  const fs::path copy = fs::path(folder_.path()) / "copy.db";
  Database(file_, Database::Mode::read).copy_into(copy);
  EXPECT_TRUE(Database(copy, Database::Mode::read).pages_summed());
  fs::rename(copy, file_);
  EXPECT_EQ(read_all(), "ok");
}

TEST_F(PageSums, AFileWithoutThemGetsThem) {
  const fs::path old = fs::path(folder_.path()) / "old.db";
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open_v2(old.c_str(), &plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr), SQLITE_OK);
  sqlite3_exec(plain, "PRAGMA user_version=1; CREATE TABLE t(x); INSERT INTO t VALUES('kept')", nullptr, nullptr,
               nullptr);
  sqlite3_close(plain);
  {
    Database database(old, Database::Mode::write);
    EXPECT_FALSE(database.pages_summed());
    EXPECT_EQ(database.text("SELECT x FROM t"), "kept");
    database.sum_pages();
    EXPECT_TRUE(database.pages_summed());
  }
  EXPECT_EQ(Database(old, Database::Mode::read).text("SELECT x FROM t"), "kept");
  EXPECT_EQ(bytes_of(old)[20], kPageSumBytes);
}

// Worked by hand from the formula: two words, so chains 0 and 1 take one each.
TEST(PageSum, IsTheWrittenFormula) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  const std::array<std::uint64_t, 2> words{5, 9};
  std::array<std::uint64_t, 4> chains{3, 1, 2, 3};
  for (std::size_t i = 0; i < 2; ++i) {
    chains[i] = (chains[i] ^ words[i]) * kFactor;
    chains[i] ^= chains[i] >> 32;
  }
  std::uint64_t sum = 0;
  for (std::uint64_t chain : chains) {
    sum = (sum ^ chain) * kFactor;
    sum ^= sum >> 29;
  }
  EXPECT_EQ(page_sum(3, std::as_bytes(std::span(words))), sum);
}

}  // namespace
}  // namespace rlflow
