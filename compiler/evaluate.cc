// Evaluates constant expressions.
#include "compiler/evaluate.h"

#include <utility>

#include "compiler/arithmetic.h"
#include "compiler/names.h"
#include "compiler/resolve_parts.h"

namespace rlflow {
namespace {

const std::vector<std::string> kUnitNames = {"tokens", "seqs", "steps", "ms", "s", "m", "h", "B", "KiB", "MiB", "GiB"};

// What people write who know other languages.
constexpr std::pair<std::string_view, std::string_view> kOtherSpellings[] = {
    {"sec", "s"},      {"secs", "s"},      {"second", "s"},  {"seconds", "s"},      {"min", "m"},
    {"mins", "m"},     {"minute", "m"},    {"minutes", "m"}, {"hr", "h"},           {"hrs", "h"},
    {"hour", "h"},     {"hours", "h"},     {"msec", "ms"},   {"millis", "ms"},      {"token", "tokens"},
    {"tok", "tokens"}, {"toks", "tokens"}, {"seq", "seqs"},  {"sequences", "seqs"}, {"step", "steps"},
    {"KB", "KiB"},     {"MB", "MiB"},      {"GB", "GiB"},    {"bytes", "B"}};

bool is_bare_word(const ast::Expr& expr, const Scope& scope) {
  const auto* reference = std::get_if<ast::Reference>(&expr.data);
  return reference != nullptr && !reference->index && scope.find(reference->name.text) == nullptr;
}

}  // namespace

std::optional<Value> Evaluator::evaluate(const ast::Expr& expr) {
  if (const auto* literal = std::get_if<ast::Number>(&expr.data)) return number(*literal, expr.span);
  if (const auto* string = std::get_if<ast::String>(&expr.data)) return Value(string->value);
  if (const auto* boolean = std::get_if<ast::Boolean>(&expr.data)) return Value(boolean->value);
  if (const auto* name = std::get_if<ast::Reference>(&expr.data)) return reference(*name);
  if (const auto* call = std::get_if<ast::Call>(&expr.data)) return function(*call);
  if (const auto* op = std::get_if<ast::Unary>(&expr.data)) return unary(*op, expr.span);
  if (const auto* op = std::get_if<ast::Binary>(&expr.data)) return binary(*op, expr.span);
  if (const auto* ends = std::get_if<ast::RangeExpr>(&expr.data)) return range(*ends, expr.span);
  List list;
  for (const ast::Expr& item : std::get<ast::ListExpr>(expr.data).items) {
    std::optional<Value> value = evaluate(item);
    if (!value) return std::nullopt;
    list.push_back(std::move(*value));
  }
  return Value(std::move(list));
}

std::optional<Value> Evaluator::number(const ast::Number& number, Span span) {
  if (!number.is_known) return std::nullopt;
  if (!number.unit) return number.is_whole ? Value(number.whole) : Value(number.real);
  double magnitude = number.is_whole ? static_cast<double>(number.whole) : number.real;
  const ast::Name& unit = *number.unit;
  Computed quantity = with_unit(magnitude, unit.text);
  if (quantity.value) return quantity.value;
  if (!quantity.fault.empty()) {
    diagnostics_.error("E0215", span, "this number cannot be used").label(quantity.fault);
    return std::nullopt;
  }
  Diagnostic& message = diagnostics_.error("E0114", unit.span, "there is no unit `" + unit.text + "`");
  for (const auto& [other, name] : kOtherSpellings) {
    if (unit.text == other)
      message.fix("write `" + std::string(name) + "`", Applicability::likely, {{unit.span, std::string(name)}});
  }
  if (message.fixes.empty()) suggest(message, unit.text, unit.span, kUnitNames, "units");
  if (message.fixes.empty()) message.note("the units are " + quoted_list(kUnitNames, "and"));
  return std::nullopt;
}

Diagnostic& Evaluator::report_unknown(const ast::Name& name) {
  if (Diagnostic* unknown = report_unreachable(scope_, name.text, name.span, diagnostics_)) return *unknown;
  Diagnostic& message = diagnostics_.error("E0201", name.span, "there is no parameter `" + name.text + "`");
  for (const char* word : {"True", "TRUE", "False", "FALSE"}) {
    const std::string right = word[0] == 'T' ? "true" : "false";
    if (name.text == word) message.fix("write `" + right + "`", Applicability::likely, {{name.span, right}});
  }
  if (message.fixes.empty())
    suggest(message, name.text, name.span, scope_.names_of(SymbolKind::param), plural_of(SymbolKind::param));
  return message;
}

std::optional<Value> Evaluator::reference(const ast::Reference& reference) {
  const ast::Name& name = reference.name;
  const Symbol* symbol = scope_.find(name.text);
  if (symbol == nullptr) {
    const bool told = scope_.is_told_elsewhere(SymbolKind::param, name.text, scope_.names_of(SymbolKind::param));
    if (!told) report_unknown(name);
    return std::nullopt;
  }
  if (symbol->kind == SymbolKind::broken) return std::nullopt;
  if (symbol->kind != SymbolKind::param || reference.index) {
    Diagnostic& message =
        diagnostics_.error("E0206", name.span, "`" + name.text + "` is " + noun_of(symbol->kind) + ", not a value");
    message.at(symbol->span, "defined here").note("values are made of numbers, words, strings and parameters");
    std::vector<std::string> close = close_names(name.text, scope_.names_of(SymbolKind::param));
    if (close.size() == 1)
      message.fix("did you mean `" + close[0] + "`?", Applicability::likely, {{name.span, close[0]}});
    return std::nullopt;
  }
  Param& param = params_[static_cast<std::size_t>(symbol->index)];
  param.used = true;
  if (param.value.is_null()) return std::nullopt;
  return param.value;
}

std::optional<Value> Evaluator::function(const ast::Call& call) {
  const std::string& name = call.callee.text;
  if (name != "min" && name != "max") {
    Diagnostic& message =
        diagnostics_.error("E0204", call.callee.span, "there is no function `" + name + "` in expressions");
    suggest(message, name, call.callee.span, {"min", "max"}, "functions");
    return std::nullopt;
  }
  std::optional<Value> best;
  for (const ast::Argument& argument : call.arguments) {
    std::optional<Value> value = evaluate(argument.value);
    if (!value) return std::nullopt;
    Computed better = best ? apply(name == "min" ? "<" : ">", *value, *best) : Computed{Value(true), ""};
    if (!better.value) {
      diagnostics_.error("E0215", argument.span, better.fault);
      return std::nullopt;
    }
    if (*better.value->get<bool>()) best = value;
  }
  if (!best) diagnostics_.error("E0303", call.span, "`" + name + "` needs at least one value");
  return best;
}

std::optional<Value> Evaluator::unary(const ast::Unary& unary, Span span) {
  std::optional<Value> operand = evaluate(unary.operand[0]);
  if (!operand) return std::nullopt;
  if (unary.op == "not") {
    if (const bool* truth = operand->get<bool>()) return Value(!*truth);
    diagnostics_.error("E0215", span, "`not` needs true or false, this is " + kind_of(*operand));
    return std::nullopt;
  }
  Computed result = negate(*operand);
  if (!result.value) diagnostics_.error("E0215", span, result.fault);
  return result.value;
}

// Both sides; where one is a word, a bare word on the other side is read as one too: `mode == fast`.
std::optional<std::pair<Value, Value>> Evaluator::operands(const ast::Binary& binary) {
  bool equality = binary.op == "==" || binary.op == "!=";
  std::optional<Value> sides[2];
  for (int i : {0, 1}) {
    if (!equality || !is_bare_word(binary.operands[static_cast<std::size_t>(i)], scope_)) {
      sides[i] = evaluate(binary.operands[static_cast<std::size_t>(i)]);
      if (!sides[i]) return std::nullopt;
    }
  }
  for (int i : {0, 1}) {
    if (sides[i]) continue;
    const ast::Expr& side = binary.operands[static_cast<std::size_t>(i)];
    if (sides[1 - i] && sides[1 - i]->get<Word>() != nullptr) {
      sides[i] = Value(Word{std::get<ast::Reference>(side.data).name.text});
    } else {
      sides[i] = evaluate(side);
      if (!sides[i]) return std::nullopt;
    }
  }
  return std::pair(*sides[0], *sides[1]);
}

std::optional<Value> Evaluator::binary(const ast::Binary& binary, Span span) {
  auto both = operands(binary);
  if (!both) return std::nullopt;
  Computed result = apply(binary.op, both->first, both->second);
  if (!result.value) diagnostics_.error("E0215", span, result.fault);
  return result.value;
}

std::optional<Value> Evaluator::range(const ast::RangeExpr& range, Span span) {
  std::optional<Value> lo = evaluate(range.ends[0]);
  std::optional<Value> hi = evaluate(range.ends[1]);
  if (!lo || !hi) return std::nullopt;
  Computed ordered = apply("<=", *lo, *hi);
  if (!ordered.value || lo->get<Quantity>() != nullptr) {
    diagnostics_.error("E0215", span, "a range goes from one number to another");
    return std::nullopt;
  }
  if (!*ordered.value->get<bool>()) {
    diagnostics_.error("E0215", span, "this range is empty: " + to_text(*lo) + " is more than " + to_text(*hi))
        .note("value ranges include both ends");
    return std::nullopt;
  }
  auto real = [](const Value& v) {
    return v.get<double>() ? *v.get<double>() : static_cast<double>(*v.get<std::int64_t>());
  };
  return Value(Range{real(*lo), real(*hi)});
}

}  // namespace rlflow
