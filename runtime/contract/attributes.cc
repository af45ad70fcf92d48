// Canonical text and typed access of attribute values.
#include "runtime/contract/attributes.h"

#include <charconv>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

std::string quoted(const std::string& raw) {
  std::string text = "\"";
  for (char c : raw) {
    switch (c) {
      case '"': text += "\\\""; break;
      case '\\': text += "\\\\"; break;
      case '\n': text += "\\n"; break;
      case '\t': text += "\\t"; break;
      default: text += c;
    }
  }
  return text + '"';
}

std::string unit_text(Unit unit) {
  switch (unit) {
    case Unit::none: return "";
    case Unit::tokens: return " tokens";
    case Unit::seqs: return " seqs";
    case Unit::steps: return " steps";
    case Unit::milliseconds: return "ms";
    case Unit::bytes: return "B";
  }
  return "";
}

struct TextOf {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return double_text(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const Word& v) const { return v.name; }
  std::string operator()(const Quantity& v) const { return std::to_string(v.count) + unit_text(v.unit); }
  std::string operator()(const Range& v) const { return double_text(v.lo) + ".." + double_text(v.hi); }
  std::string operator()(const List& v) const {
    std::string text = "[";
    for (std::size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + to_text(v[i]);
    return text + "]";
  }
  std::string operator()(const CallValue& v) const {
    std::string text = v.name + "(";
    bool first = true;
    for (const Value& arg : v.positional) {
      text += (first ? "" : ", ") + to_text(arg);
      first = false;
    }
    for (const auto& [name, arg] : v.named) {
      text += (first ? "" : ", ") + name + "=" + to_text(arg);
      first = false;
    }
    return text + ")";
  }
};

const Value& required(const Attributes& attributes, const std::string& name) {
  auto it = attributes.find(name);
  RLFLOW_CHECK(it != attributes.end() && !it->second.is_null(), "attribute `" + name + "` is not set");
  return it->second;
}

[[noreturn]] void wrong_type(const std::string& name, const Value& value) {
  check_failed("attribute type", __FILE__, __LINE__, "`" + name + "` is " + to_text(value));
}

}  // namespace

bool operator==(const Value& a, const Value& b) { return a.data.index() == b.data.index() && to_text(a) == to_text(b); }

std::string double_text(double value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  RLFLOW_CHECK(error == std::errc(), "double_text");
  return std::string(buffer, end);
}

std::string to_text(const Value& value) { return std::visit(TextOf{}, value.data); }

std::string to_text(const Attributes& attributes) {
  std::string text = "{";
  bool first = true;
  for (const auto& [name, value] : attributes) {
    text += (first ? "" : ", ") + name + " = " + to_text(value);
    first = false;
  }
  return text + "}";
}

bool bool_at(const Attributes& attributes, const std::string& name) {
  const Value& value = required(attributes, name);
  if (const bool* v = value.get<bool>()) return *v;
  wrong_type(name, value);
}

std::int64_t int_at(const Attributes& attributes, const std::string& name) {
  const Value& value = required(attributes, name);
  if (const auto* v = value.get<std::int64_t>()) return *v;
  if (const auto* q = value.get<Quantity>()) return q->count;
  wrong_type(name, value);
}

double real_at(const Attributes& attributes, const std::string& name) {
  const Value& value = required(attributes, name);
  if (const auto* v = value.get<double>()) return *v;
  if (const auto* v = value.get<std::int64_t>()) return static_cast<double>(*v);
  wrong_type(name, value);
}

std::string text_at(const Attributes& attributes, const std::string& name) {
  const Value& value = required(attributes, name);
  if (const auto* v = value.get<std::string>()) return *v;
  if (const auto* w = value.get<Word>()) return w->name;
  wrong_type(name, value);
}

const Value& value_at(const Attributes& attributes, const std::string& name) { return required(attributes, name); }

bool has(const Attributes& attributes, const std::string& name) {
  auto it = attributes.find(name);
  return it != attributes.end() && !it->second.is_null();
}

}  // namespace rlflow
