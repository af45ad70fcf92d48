// How is SQLite spoken to? One connection, statements with typed binds, transactions; nothing of SQLite shows here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/digest.h"
#include "runtime/store/store_error.h"

namespace rlflow {

// A statement that broke a constraint or a trigger of the schema.
struct ConstraintError : StoreError {
  using StoreError::StoreError;
};

// One prepared statement; must not outlive its Database. Binds go left to right from ?1.
class Statement {
 public:
  Statement(Statement&&) noexcept;
  ~Statement();

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(const Digest& digest);
  Statement& bind(const WeightsDigest& digest);
  Statement& bind_blob(std::span<const std::uint8_t> bytes);
  Statement& bind_null();
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  bool step();  // true: a row is there to be read
  void run();   // for statements without rows

  bool null_at(int column) const;
  std::int64_t int_at(int column) const;
  double real_at(int column) const;
  std::string text_at(int column) const;
  Digest digest_at(int column) const;                 // StoreError unless 32 bytes
  WeightsDigest weights_digest_at(int column) const;  // StoreError unless 16 bytes
  std::optional<Digest> optional_digest_at(int column) const;

 private:
  friend class Database;
  struct Handle;
  explicit Statement(std::unique_ptr<Handle> handle);
  std::span<const std::uint8_t> blob_at(int column, std::size_t size) const;
  std::unique_ptr<Handle> handle_;
};

// A connection. The writer sets the durability of the engine document; readers never write, never checkpoint.
// Every page read is checked against the sum it was written with (page_sums.h).
// Statements stay compiled between uses. Not thread-safe. Failures throw StoreError naming the file; after a failed
// write the connection writes nothing more, not even when it is closed.
class Database {
 public:
  enum class Mode {
    create,  // makes the file; the schema is the caller's business
    write,
    read,  // also of a read-only folder, if no unfinished log stands beside the file
  };
  Database(const std::filesystem::path& file, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(std::string_view sql);  // any number of statements, no binds
  Statement prepare(std::string_view sql);
  template <class... Values>
  Statement query(std::string_view sql, const Values&... values) {
    Statement statement = prepare(sql);
    (statement.bind(values), ...);
    return statement;
  }
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    query(sql, values...).run();
  }
  std::int64_t changes() const;               // rows changed by the last statement
  std::int64_t last_row() const;              // rowid of the last insert
  std::int64_t number(std::string_view sql);  // the single number of a query
  std::string text(std::string_view sql);     // the single text of a query

  // BEGIN IMMEDIATE … COMMIT; of Transaction.
  void begin();
  void commit();
  void checkpoint_passive();   // moves finished pages of the log into the file, without waiting
  void checkpoint_truncate();  // all of them, and empties the log

  // Writes all of it, as one moment has it, as a new file: synced, but not yet its folder's entry. A reader may.
  void copy_into(const std::filesystem::path& file);

  bool pages_summed() const;  // false: a file of schema version 1
  void sum_pages();           // gives every page its sum; killed at any point, it leaves the file as it was or summed

  const std::filesystem::path& file() const { return file_; }

 private:
  struct Connection;
  std::filesystem::path file_;
  std::unique_ptr<Connection> connection_;
};

// BEGIN IMMEDIATE … COMMIT; rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

// One state of the database for every read while it lives, whatever another process commits meanwhile. Keep it short:
// the log of a live run cannot be emptied past it.
class Snapshot {
 public:
  explicit Snapshot(Database& database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
};

}  // namespace rlflow
