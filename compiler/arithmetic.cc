// Computes with constant values; overflow and division by zero are faults, never wrap-around.
#include "compiler/arithmetic.h"

#include <cmath>
#include <limits>

namespace rlflow {
namespace {

using Whole = std::int64_t;

bool is_number(const Value& v) { return v.get<Whole>() != nullptr || v.get<double>() != nullptr; }
double real_of(const Value& v) {
  if (const double* d = v.get<double>()) return *d;
  if (const Quantity* q = v.get<Quantity>()) return static_cast<double>(q->count);
  return static_cast<double>(*v.get<Whole>());
}

Computed fault(std::string text) { return {std::nullopt, std::move(text)}; }

Computed finite(double value) {
  if (!std::isfinite(value)) return fault("the result is not a finite number");
  return {Value(value), ""};
}

Computed whole_arithmetic(char op, Whole a, Whole b) {
  Whole result = 0;
  bool overflow = false;
  switch (op) {
    case '+': overflow = __builtin_add_overflow(a, b, &result); break;
    case '-': overflow = __builtin_sub_overflow(a, b, &result); break;
    case '*': overflow = __builtin_mul_overflow(a, b, &result); break;
    default:
      if (b == 0) return fault("division by zero");
      overflow = a == std::numeric_limits<Whole>::min() && b == -1;
      if (!overflow && op == '/' && a % b != 0) return finite(static_cast<double>(a) / static_cast<double>(b));
      if (!overflow) result = op == '/' ? a / b : a % b;
  }
  if (overflow) return fault("the result is too large for a whole number");
  return {Value(result), ""};
}

Computed real_arithmetic(char op, double a, double b) {
  switch (op) {
    case '+': return finite(a + b);
    case '-': return finite(a - b);
    case '*': return finite(a * b);
    case '/': return b == 0 ? fault("division by zero") : finite(a / b);
    default: return b == 0 ? fault("division by zero") : finite(std::fmod(a, b));
  }
}

Computed quantity_arithmetic(char op, const Value& a, const Value& b) {
  const Quantity* x = a.get<Quantity>();
  const Quantity* y = b.get<Quantity>();
  bool both = x != nullptr && y != nullptr;
  bool fits = both ? x->unit == y->unit && op != '*'
                   : (op == '*' || (x != nullptr && (op == '/' || op == '%'))) && is_number(x ? b : a) &&
                         (x ? b : a).get<Whole>() != nullptr;
  if (!fits) return fault("cannot compute `" + std::string(1, op) + "` of " + kind_of(a) + " and " + kind_of(b));
  Whole left = x ? x->count : *a.get<Whole>();
  Whole right = y ? y->count : *b.get<Whole>();
  Computed number = whole_arithmetic(op, left, right);
  if (!number.value || (both && op == '/')) return number;
  const Whole* count = number.value->get<Whole>();
  if (count == nullptr) return fault("the result is not a whole number of " + unit_words((x ? x : y)->unit));
  return {Value(Quantity{*count, (x ? x : y)->unit}), ""};
}

Computed compare(const std::string& op, const Value& a, const Value& b) {
  const Quantity* x = a.get<Quantity>();
  const Quantity* y = b.get<Quantity>();
  bool ordered = (is_number(a) && is_number(b)) || (x != nullptr && y != nullptr && x->unit == y->unit);
  if (ordered) {
    double l = real_of(a);
    double r = real_of(b);
    bool result = op == "<"    ? l < r
                  : op == ">"  ? l > r
                  : op == "<=" ? l <= r
                  : op == ">=" ? l >= r
                  : op == "==" ? l == r
                               : l != r;
    return {Value(result), ""};
  }
  bool equality = (op == "==" || op == "!=") && a.data.index() == b.data.index() && x == nullptr;
  if (!equality) return fault("cannot compare " + kind_of(a) + " with " + kind_of(b));
  return {Value((a == b) == (op == "==")), ""};
}

struct UnitFactor {
  const char* name;
  Unit unit;
  Whole factor;
};
constexpr UnitFactor kUnits[] = {
    {"tokens", Unit::tokens, 1},
    {"token", Unit::tokens, 1},
    {"seqs", Unit::seqs, 1},
    {"seq", Unit::seqs, 1},
    {"steps", Unit::steps, 1},
    {"step", Unit::steps, 1},
    {"ms", Unit::milliseconds, 1},
    {"s", Unit::milliseconds, 1000},
    {"m", Unit::milliseconds, 60'000},
    {"h", Unit::milliseconds, 3600'000},
    {"B", Unit::bytes, 1},
    {"KiB", Unit::bytes, 1 << 10},
    {"MiB", Unit::bytes, 1 << 20},
    {"GiB", Unit::bytes, 1 << 30},
};

}  // namespace

Computed apply(const std::string& op, const Value& a, const Value& b) {
  if (op == "and" || op == "or") {
    const bool* x = a.get<bool>();
    const bool* y = b.get<bool>();
    if (x == nullptr || y == nullptr) return fault("`" + op + "` needs true or false on both sides");
    return {Value(op == "and" ? *x && *y : *x || *y), ""};
  }
  if (op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '!') return compare(op, a, b);
  if (a.get<Quantity>() != nullptr || b.get<Quantity>() != nullptr) return quantity_arithmetic(op[0], a, b);
  if (!is_number(a) || !is_number(b))
    return fault("cannot compute `" + op + "` of " + kind_of(a) + " and " + kind_of(b));
  if (a.get<Whole>() != nullptr && b.get<Whole>() != nullptr)
    return whole_arithmetic(op[0], *a.get<Whole>(), *b.get<Whole>());
  return real_arithmetic(op[0], real_of(a), real_of(b));
}

Computed negate(const Value& value) {
  if (const double* d = value.get<double>()) return {Value(-*d), ""};
  if (const Quantity* q = value.get<Quantity>()) return {Value(Quantity{-q->count, q->unit}), ""};
  if (value.get<Whole>() == nullptr) return fault("cannot negate " + kind_of(value));
  return whole_arithmetic('-', 0, *value.get<Whole>());
}

Computed with_unit(double number, const std::string& unit) {
  for (const UnitFactor& known : kUnits) {
    if (unit != known.name) continue;
    double scaled = number * static_cast<double>(known.factor);
    if (scaled != std::floor(scaled)) return fault("not a whole number of " + unit_words(known.unit));
    if (std::abs(scaled) > 9e15) return fault("too large");
    return {Value(Quantity{static_cast<Whole>(scaled), known.unit}), ""};
  }
  return fault("");
}

std::string unit_words(Unit unit) {
  switch (unit) {
    case Unit::none: return "nothing";
    case Unit::tokens: return "tokens";
    case Unit::seqs: return "seqs";
    case Unit::steps: return "steps";
    case Unit::milliseconds: return "milliseconds";
    case Unit::bytes: return "bytes";
  }
  return "";
}

std::string kind_of(const Value& value) {
  struct Words {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool) const { return "true or false"; }
    std::string operator()(Whole) const { return "a whole number"; }
    std::string operator()(double) const { return "a number with a fraction"; }
    std::string operator()(const std::string&) const { return "a string"; }
    std::string operator()(const Word& w) const { return "the word `" + w.name + "`"; }
    std::string operator()(const Quantity& q) const {
      return q.unit == Unit::milliseconds ? "a duration" : "a number of " + unit_words(q.unit);
    }
    std::string operator()(const Range&) const { return "a range"; }
    std::string operator()(const List&) const { return "a list"; }
    std::string operator()(const CallValue& c) const { return "`" + c.name + "(...)`"; }
  };
  return std::visit(Words{}, value.data);
}

}  // namespace rlflow
