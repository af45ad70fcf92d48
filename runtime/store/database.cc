// SQLite behind Database.
#include "runtime/store/database.h"

#include <sqlite3.h>

#include <cstring>
#include <unordered_map>
#include <utility>

#include "runtime/contract/check.h"
#include "runtime/store/failpoint.h"
#include "runtime/store/file_layer.h"
#include "runtime/store/page_sums.h"

namespace rlflow {
namespace {

bool write_failed(int code) {
  int primary = code & 0xff;
  return primary == SQLITE_FULL || primary == SQLITE_IOERR || primary == SQLITE_READONLY;
}

[[noreturn]] void fail(sqlite3* connection, int code, const std::filesystem::path& file, std::string_view doing) {
  std::string cause = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  std::string message = "cannot " + std::string(doing) + " `" + file.string() + "`: " + cause;
  if ((code & 0xff) == SQLITE_CONSTRAINT) {
    throw ConstraintError(ExitCode::store_damaged, "R0205", message, "the store refused it; report this as a fault");
  }
  if (code == SQLITE_IOERR_DATA) {
    std::int64_t page = 0;
    sqlite3_file_control(connection, "main", kWrongPageControl, &page);
    throw StoreError(
        ExitCode::store_damaged, "R0205",
        "`" + file.string() + "` is damaged: page " + std::to_string(page) + " is not what was written there",
        "keep the run folder as it is; restore it from a copy");
  }
  if ((code & 0xff) == SQLITE_CANTOPEN) {
    int error = connection ? sqlite3_system_errno(connection) : 0;
    if (error != 0) message += std::string(" (") + std::strerror(error) + ")";
    throw StoreError(ExitCode::person_must_act, "R0206", message,
                     "free space or make the folder accessible, then try again");
  }
  if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB) {
    // A page that the disk does not give is called malformed by SQLite too.
    for (const char* suffix : {"", "-wal"}) require_readable(file.string() + suffix);
  }
  if (write_failed(code)) {
    // A sync that failed once may seem to succeed when tried again, so nothing is: the log stays as it is.
    if (connection) sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    throw StoreError(ExitCode::person_must_act, "R0206", message, "free space or fix the disk, then resume the run");
  }
  throw StoreError(ExitCode::store_damaged, "R0205", message, "keep the run folder as it is; restore it from a copy");
}

constexpr const char* kCommonPragmas =
    "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;";
constexpr const char* kWriterPragmas = "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;";

// A read-only folder has no place for the shared memory of a log; without a log the file alone is the truth.
std::string reader_uri(const std::filesystem::path& file, bool immutable) {
  std::string uri = "file:";
  for (char c : file.string()) {
    if (c == '%' || c == '?' || c == '#') {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned char>(c));
      uri += escaped;
    } else {
      uri += c;
    }
  }
  return uri + (immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

// Compiled statements that nobody uses now, by their text, of which SQLite keeps a copy with each.
using IdleStatements = std::unordered_map<std::string_view, std::vector<sqlite3_stmt*>>;

bool log_is_empty(const std::filesystem::path& file) {
  std::error_code error;
  auto size = std::filesystem::file_size(file.string() + "-wal", error);
  return error || size == 0;
}

}  // namespace

struct Statement::Handle {
  sqlite3* connection;
  sqlite3_stmt* statement;
  const std::filesystem::path& file;
  std::vector<sqlite3_stmt*>& idle;  // those of the same text
  int next = 1;

  Handle(sqlite3* c, sqlite3_stmt* s, const std::filesystem::path& f, std::vector<sqlite3_stmt*>& i)
      : connection(c), statement(s), file(f), idle(i) {}
  Handle(const Handle&) = delete;  // it gives the statement back
  Handle& operator=(const Handle&) = delete;

  void check(int code, std::string_view doing) const {
    if (code != SQLITE_OK) fail(connection, code, file, doing);
  }
  ~Handle() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    idle.push_back(statement);
  }
};

Statement::Statement(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Statement::Statement(Statement&&) noexcept = default;
Statement::~Statement() = default;

Statement& Statement::bind(std::int64_t value) {
  handle_->check(sqlite3_bind_int64(handle_->statement, handle_->next++, value), "bind to");
  return *this;
}
Statement& Statement::bind(double value) {
  handle_->check(sqlite3_bind_double(handle_->statement, handle_->next++, value), "bind to");
  return *this;
}
Statement& Statement::bind(std::string_view text) {
  int size = static_cast<int>(text.size());
  const char* data = text.empty() ? "" : text.data();
  handle_->check(sqlite3_bind_text(handle_->statement, handle_->next++, data, size, SQLITE_TRANSIENT), "bind to");
  return *this;
}
Statement& Statement::bind(const Digest& digest) { return bind_blob(digest.bytes); }
Statement& Statement::bind(const WeightsDigest& digest) {
  std::uint8_t bytes[16];
  std::memcpy(bytes, &digest.lo, 8);
  std::memcpy(bytes + 8, &digest.hi, 8);
  return bind_blob(bytes);
}
Statement& Statement::bind_blob(std::span<const std::uint8_t> bytes) {
  int size = static_cast<int>(bytes.size());
  handle_->check(sqlite3_bind_blob(handle_->statement, handle_->next++, bytes.data(), size, SQLITE_TRANSIENT),
                 "bind to");
  return *this;
}
Statement& Statement::bind_null() {
  handle_->check(sqlite3_bind_null(handle_->statement, handle_->next++), "bind to");
  return *this;
}

bool Statement::step() {
  int code = sqlite3_step(handle_->statement);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    int extended = sqlite3_extended_errcode(handle_->connection);
    fail(handle_->connection, extended, handle_->file, "use");
  }
  return false;
}
void Statement::run() { RLFLOW_CHECK(!step(), "a statement that gives rows was run as one without"); }

bool Statement::null_at(int column) const { return sqlite3_column_type(handle_->statement, column) == SQLITE_NULL; }
std::int64_t Statement::int_at(int column) const { return sqlite3_column_int64(handle_->statement, column); }
double Statement::real_at(int column) const { return sqlite3_column_double(handle_->statement, column); }
std::string Statement::text_at(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_->statement, column);
  if (!text) return {};
  auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_->statement, column));
  return std::string(reinterpret_cast<const char*>(text), size);
}

std::span<const std::uint8_t> Statement::blob_at(int column, std::size_t size) const {
  const void* data = sqlite3_column_blob(handle_->statement, column);
  auto found = static_cast<std::size_t>(sqlite3_column_bytes(handle_->statement, column));
  if (!data || found != size) {
    throw StoreError(ExitCode::store_damaged, "R0205",
                     "`" + handle_->file.string() + "` holds a digest of " + std::to_string(found) + " bytes, not " +
                         std::to_string(size),
                     "keep the run folder as it is; restore it from a copy");
  }
  return {static_cast<const std::uint8_t*>(data), size};
}
Digest Statement::digest_at(int column) const {
  Digest digest;
  std::memcpy(digest.bytes.data(), blob_at(column, 32).data(), 32);
  return digest;
}
WeightsDigest Statement::weights_digest_at(int column) const {
  WeightsDigest digest;
  auto bytes = blob_at(column, 16);
  std::memcpy(&digest.lo, bytes.data(), 8);
  std::memcpy(&digest.hi, bytes.data() + 8, 8);
  return digest;
}
std::optional<Digest> Statement::optional_digest_at(int column) const {
  if (null_at(column)) return std::nullopt;
  return digest_at(column);
}

struct Database::Connection {
  sqlite3* handle = nullptr;
  IdleStatements idle;
  ~Connection() {
    for (auto& [sql, statements] : idle) {
      for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
    }
    sqlite3_close_v2(handle);
  }

  // For the file that is made next: a new database, or the copy of a VACUUM, after which SQLite forgets it.
  void reserve_sums() const {
    int reserved = kPageSumBytes;
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  }

  int open(const std::string& name, int flags) {
    // Counting its memory under a lock costs SQLite an eighth of its time, and nobody reads the count.
    static const int kUncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (kUncounted != SQLITE_OK && kUncounted != SQLITE_MISUSE) return kUncounted;  // misuse: in use already
    sqlite3_close_v2(std::exchange(handle, nullptr));
    int code =
        sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, page_sums_vfs());
    if (code != SQLITE_OK) return code;
    sqlite3_busy_timeout(handle, 5000);
    sqlite3_exec(handle, ("PRAGMA page_size=" + std::to_string(kPageBytes)).c_str(), nullptr, nullptr, nullptr);
    reserve_sums();
    // The header is read now, so that a file that cannot be used fails here.
    return sqlite3_exec(handle, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  }
};

Database::Database(const std::filesystem::path& file, Mode mode)
    : file_(file), connection_(std::make_unique<Connection>()) {
  int code = SQLITE_OK;
  if (mode == Mode::read) {
    code = connection_->open(reader_uri(file, false), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (code != SQLITE_OK && std::filesystem::exists(file) && log_is_empty(file)) {
      code = connection_->open(reader_uri(file, true), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    }
  } else {
    int create = mode == Mode::create ? SQLITE_OPEN_CREATE : 0;
    code = connection_->open(file.string(), SQLITE_OPEN_READWRITE | create);
  }
  if (code != SQLITE_OK) fail(connection_->handle, code, file, "open");
  execute(kCommonPragmas);
  if (mode == Mode::read) {
    sqlite3_db_config(connection_->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  } else {
    execute(kWriterPragmas);
    execute(is_off(Safeguard::full_sync) ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL");
  }
}
Database::~Database() = default;

void Database::execute(std::string_view sql) {
  int code = sqlite3_exec(connection_->handle, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(connection_->handle, code, file_, "use");
}

Statement Database::prepare(std::string_view sql) {
  auto use = [this](sqlite3_stmt* statement, std::vector<sqlite3_stmt*>& idle) {
    return Statement(std::make_unique<Statement::Handle>(connection_->handle, statement, file_, idle));
  };
  if (auto compiled = connection_->idle.find(sql); compiled != connection_->idle.end() && !compiled->second.empty()) {
    sqlite3_stmt* statement = compiled->second.back();
    compiled->second.pop_back();
    return use(statement, compiled->second);
  }
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(connection_->handle, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) fail(connection_->handle, code, file_, "read");
  RLFLOW_CHECK(sqlite3_sql(statement) == sql, "a statement and what follows it: " + std::string(sql));
  return use(statement, connection_->idle[sqlite3_sql(statement)]);
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_->handle); }
std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(connection_->handle); }

std::int64_t Database::number(std::string_view sql) {
  Statement statement = prepare(sql);
  RLFLOW_CHECK(statement.step(), std::string(sql));
  return statement.int_at(0);
}
std::string Database::text(std::string_view sql) {
  Statement statement = prepare(sql);
  RLFLOW_CHECK(statement.step(), std::string(sql));
  return statement.text_at(0);
}

void Database::begin() {
  execute("BEGIN IMMEDIATE");
  failpoint("transaction: begun");
}
void Database::commit() {
  failpoint("transaction: complete");
  execute("COMMIT");
  failpoint("transaction: committed");
}

void Database::copy_into(const std::filesystem::path& file) {
  connection_->reserve_sums();
  query("VACUUM INTO ?1", file.string()).run();
  failpoint("copy: written");
}

bool Database::pages_summed() const {
  std::int64_t answer = 0;
  sqlite3_file_control(connection_->handle, "main", kPagesSummedControl, &answer);
  return answer != 0;
}
void Database::sum_pages() {
  failpoint("sums: adding");
  connection_->reserve_sums();
  execute("VACUUM");
  failpoint("sums: in the log");
  checkpoint_truncate();
}

void Database::checkpoint_passive() {
  failpoint("checkpoint: passive");
  execute("PRAGMA wal_checkpoint(PASSIVE)");
}
void Database::checkpoint_truncate() {
  failpoint("checkpoint: truncating");
  execute("PRAGMA wal_checkpoint(TRUNCATE)");
  failpoint("checkpoint: truncated");
}

Transaction::Transaction(Database& database) : database_(database) { database_.begin(); }
Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const StoreError&) {
    // SQLite rolled it back by itself already; the error that brought us here is the one to report.
    open_ = false;
  }
}
void Transaction::commit() {
  database_.commit();
  open_ = false;
}

Snapshot::Snapshot(Database& database) : database_(database) { database_.execute("BEGIN"); }
Snapshot::~Snapshot() {
  try {
    database_.execute("ROLLBACK");
  } catch (const StoreError&) {
    return;  // the error that SQLite ended it for was reported
  }
}

}  // namespace rlflow
