// Constant values of a program after evaluation (settings, shape constants) and their canonical text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rlflow {

enum class Unit { none, tokens, seqs, steps, milliseconds, bytes };

struct Value;

// A bare word of a closed set, e.g. `estimator = grpo`.
struct Word {
  std::string name;
  friend bool operator==(const Word&, const Word&) = default;
};
// A whole number with a unit, normalised: durations in milliseconds, sizes in bytes.
struct Quantity {
  std::int64_t count = 0;
  Unit unit = Unit::none;
  friend bool operator==(const Quantity&, const Quantity&) = default;
};
// `lo..hi`, both ends included.
struct Range {
  double lo = 0;
  double hi = 0;
  friend bool operator==(const Range&, const Range&) = default;
};
using List = std::vector<Value>;
// `adamw(lr=1e-4, betas=[0.9, 0.99])`, `truncate(2.0)`.
struct CallValue {
  std::string name;
  std::vector<Value> positional;
  std::map<std::string, Value> named;
};

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Word, Quantity, Range, List, CallValue> data;

  Value() = default;
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, Value>) Value(T&& v)
      : data(std::forward<T>(v)) {}  // NOLINT: a value is what it holds

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
};
bool operator==(const Value& a, const Value& b);

// Sorted by name, so that iteration, text and hashes have one order.
using Attributes = std::map<std::string, Value>;

// Canonical program syntax ("65536 tokens", "0.0001", "[0.9, 0.99]"); equal values have equal text.
// Doubles print with the fewest digits that read back to the same bits.
std::string to_text(const Value& value);
std::string to_text(const Attributes& attributes);  // "{a = 1, b = grpo}"
std::string double_text(double value);

// Typed access for code that runs after the compiler has checked types. A missing name or another
// type is a programmer's mistake and aborts, naming the attribute.
bool bool_at(const Attributes& attributes, const std::string& name);
std::int64_t int_at(const Attributes& attributes, const std::string& name);  // int or Quantity
double real_at(const Attributes& attributes, const std::string& name);       // int or double
std::string text_at(const Attributes& attributes, const std::string& name);  // string or Word
const Value& value_at(const Attributes& attributes, const std::string& name);
bool has(const Attributes& attributes, const std::string& name);  // present and not null

}  // namespace rlflow
