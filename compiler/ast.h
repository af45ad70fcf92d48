// What was written, with its places and without meaning: the syntax tree of one .rlflow file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/contract/span.h"

namespace rlflow::ast {

struct Name {
  std::string text;  // dotted where the grammar allows it: "gsm.train"
  Span span;
};

struct Argument;
struct Expr;

struct Call {
  Name callee;
  std::vector<Argument> arguments;
  Span span;
  Span close;  // the closing parenthesis
};

// [0..4] or [0, 2]
struct Index {
  bool is_range = false;
  std::vector<Expr> items;
  Span span;
};

struct Number {
  bool is_whole = true;
  bool is_known = true;    // false: too large, and reported
  std::int64_t whole = 0;  // Ki and Mi applied
  double real = 0;
  std::optional<Name> unit;
};
struct String {
  std::string value;  // escapes decoded
};
struct Boolean {
  bool value = false;
};
struct Reference {
  Name name;
  std::optional<Index> index;
};
struct ListExpr {
  std::vector<Expr> items;
};
struct Unary {
  std::string op;  // "-", "not"
  std::vector<Expr> operand;
};
struct Binary {
  std::string op;  // "+", "<=", "and", …
  Span op_span;
  std::vector<Expr> operands;  // two
};
// lo..hi as a setting's value
struct RangeExpr {
  std::vector<Expr> ends;  // two
};

struct Expr {
  std::variant<Number, String, Boolean, Reference, ListExpr, Call, Unary, Binary, RangeExpr> data;
  Span span;
};

struct Argument {
  std::optional<Name> name;
  Expr value;
  Span span;
};

struct Setting {
  Name name;
  std::optional<Expr> value;  // `whiten` alone has none
  Span span;
  bool is_call = false;  // written `lora(rank=16)`, which means `lora = lora(rank=16)`
};
struct Settings {
  std::vector<Setting> list;
  bool broken = false;  // some of its settings could not be read
  Span span;            // braces included
};

struct Type {
  Name kind;
  std::vector<Name> dims;
  Span span;
};
struct Output {
  Name name;
  std::optional<Type> type;
};

// A node; without outputs it stands for its effect alone (checkpoint).
struct NodeStmt {
  std::vector<Output> outputs;
  Call call;
  std::optional<Name> on;
  std::optional<Expr> when;
  std::optional<Settings> settings;
};
struct SyncStmt {
  Name model;
  Name replica;
  Expr every;
  Expr lag;
  bool lag_at_most = false;
  Span lag_span;  // "lag 1"
  std::optional<Settings> settings;
};
struct Stmt;
struct EveryStmt {
  Expr every;
  bool at_start = false;
  std::vector<Stmt> body;
  Span head;  // "every 10 steps and at start"
};
struct StopStmt {
  Expr after;
};
// A statement that could not be read; the names it would have defined are known but have no type.
struct BrokenStmt {
  std::vector<Name> defines;
};
struct Stmt {
  std::variant<NodeStmt, SyncStmt, EveryStmt, StopStmt, BrokenStmt> data;
  Span span;
};

// `in lo..hi` (two items) or `in {a, b}`
struct Domain {
  bool is_range = false;
  std::vector<Expr> items;
  Span span;
};

struct ImportDecl {
  std::string path;
  Span path_span;
  Name alias;
};
struct ParamDecl {
  Name name;
  Name type;
  Expr value;
  std::optional<Domain> domain;
  std::string doc;
};
struct GroupDecl {
  Name name;
  Name device;
  std::optional<Index> index;
  std::optional<Settings> settings;
};
struct ModelDecl {
  Name name;
  Call source;
  std::optional<Name> group;  // absent: that of the model whose base it is
  std::optional<Settings> settings;
};
struct ReplicaDecl {
  Name name;
  Name model;
  Name group;
  std::optional<Settings> settings;
};
struct DataDecl {
  Name name;
  Call source;
  std::optional<Settings> settings;
};
struct RewardDecl {
  Name name;
  Call source;
  std::optional<Settings> settings;
};
struct FlowDecl {
  Name name;
  std::vector<Stmt> body;
  Span close;  // the closing brace
};
struct BrokenDecl {
  std::vector<Name> defines;
};
struct Decl {
  std::variant<ImportDecl, ParamDecl, GroupDecl, ModelDecl, ReplicaDecl, DataDecl, RewardDecl, FlowDecl, BrokenDecl>
      data;
  Span span;
};

struct File {
  FileId id;
  std::vector<Decl> decls;
  std::vector<Name> unread;  // words of what could not be read; any may be a name that is defined there
  bool broken = false;       // something in it could not be read
};

}  // namespace rlflow::ast
