// What an expression over params and literals is worth, and whether a setting may have that value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// Evaluates in one file's scope. nullopt: it has no value, and that was reported (or follows from
// something that was).
class Evaluator {
 public:
  Evaluator(const Scope& scope, std::vector<Param>& params, Diagnostics& diagnostics)
      : scope_(scope), params_(params), diagnostics_(diagnostics) {}

  std::optional<Value> evaluate(const ast::Expr& expr);

  // The value of a setting: typed, in range, calls with every argument filled in. `expr` null: the
  // setting is written without a value. `owner` is "`rollout`", for messages.
  std::optional<Value> setting(const SettingSpec& spec, const ast::Expr* expr, Span span, const std::string& owner);
  // Type and range of a value that is already known.
  std::optional<Value> fit(const SettingSpec& spec, const Value& value, Span span, const std::string& owner);
  // `adamw(lr=…)` as a value of one of `calls`.
  std::optional<Value> call(const SettingSpec& spec, const ast::Call& call, const std::string& owner);

  const Scope& scope() const { return scope_; }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  std::optional<Value> number(const ast::Number& number, Span span);
  std::optional<Value> reference(const ast::Reference& reference);
  Diagnostic& report_unknown(const ast::Name& name);
  void advise(const SettingSpec& spec, const Value& value, Span span, Diagnostic& message);
  std::optional<Value> function(const ast::Call& call);
  std::optional<Value> unary(const ast::Unary& unary, Span span);
  std::optional<Value> binary(const ast::Binary& binary, Span span);
  std::optional<Value> range(const ast::RangeExpr& range, Span span);
  std::optional<std::pair<Value, Value>> operands(const ast::Binary& binary);
  std::optional<Value> word_list(const SettingSpec& spec, const ast::Expr& expr, const std::string& owner);
  bool fill_arguments(const CallSpec& spec, const ast::Call& call, CallValue& filled);

  const Scope& scope_;
  std::vector<Param>& params_;
  Diagnostics& diagnostics_;
};

// The arguments of a call among `spec.calls` that stand in its parentheses, by position or by name.
std::vector<std::string> written_arguments(const SettingSpec& spec, const ast::Call& call);

// "a whole number", "a number of tokens", "one of `a` and `b`"
std::string describe(const SettingSpec& spec);

}  // namespace rlflow
