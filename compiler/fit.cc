// Whether a value fits a setting: its type, its unit, its range, its words, its calls.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "compiler/arithmetic.h"
#include "compiler/evaluate.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

std::vector<std::string> call_names(const SettingSpec& spec) {
  std::vector<std::string> names;
  for (const CallSpec& call : spec.calls) names.push_back(call.name);
  return names;
}

Unit unit_of(SettingType type) {
  switch (type) {
    case SettingType::duration: return Unit::milliseconds;
    case SettingType::tokens: return Unit::tokens;
    case SettingType::seqs: return Unit::seqs;
    case SettingType::bytes: return Unit::bytes;
    default: return Unit::none;
  }
}

// The value in the type's own form; nullopt where the type is another.
std::optional<Value> converted(SettingType type, const Value& value, const SettingSpec& spec) {
  const auto* whole = value.get<std::int64_t>();
  const double* real = value.get<double>();
  std::optional<Value> number;
  if (whole != nullptr) number = Value(static_cast<double>(*whole));
  if (real != nullptr) number = value;
  switch (type) {
    case SettingType::boolean: return value.get<bool>() ? std::optional(value) : std::nullopt;
    case SettingType::integer: return whole ? std::optional(value) : std::nullopt;
    case SettingType::real: return number;
    case SettingType::word: return value.get<Word>() ? std::optional(value) : std::nullopt;
    case SettingType::text: return value.get<std::string>() ? std::optional(value) : std::nullopt;
    case SettingType::word_list: {
      if (value.get<Word>()) return Value(List{value});
      const List* list = value.get<List>();
      if (list == nullptr) return std::nullopt;
      bool words = std::all_of(list->begin(), list->end(), [](const Value& item) { return item.get<Word>(); });
      return words ? std::optional(value) : std::nullopt;
    }
    case SettingType::texts: {
      if (value.get<std::string>()) return Value(List{value});
      const List* list = value.get<List>();
      if (list == nullptr) return std::nullopt;
      bool texts = std::all_of(list->begin(), list->end(), [](const Value& item) { return item.get<std::string>(); });
      return texts ? std::optional(value) : std::nullopt;
    }
    case SettingType::duration:
    case SettingType::tokens:
    case SettingType::seqs:
    case SettingType::bytes: {
      if (whole != nullptr && *whole == 0) return Value(Quantity{0, unit_of(type)});
      const Quantity* quantity = value.get<Quantity>();
      return quantity && quantity->unit == unit_of(type) ? std::optional(value) : std::nullopt;
    }
    case SettingType::int_range: {
      const Range* range = value.get<Range>();
      bool ok = range && range->lo == std::floor(range->lo) && range->hi == std::floor(range->hi);
      return ok ? std::optional(value) : std::nullopt;
    }
    case SettingType::real_list: {
      const List* list = value.get<List>();
      if (list == nullptr) return std::nullopt;
      List reals;
      for (const Value& item : *list) {
        std::optional<Value> entry = converted(SettingType::real, item, spec);
        if (!entry) return std::nullopt;
        reals.push_back(*entry);
      }
      return Value(std::move(reals));
    }
    case SettingType::word_or_real: return value.get<Word>() ? std::optional(value) : number;
    case SettingType::call: return value.get<CallValue>() ? std::optional(value) : std::nullopt;
    case SettingType::real_or_call: return value.get<CallValue>() ? std::optional(value) : number;
  }
  return std::nullopt;
}

std::vector<double> numbers_in(const Value& value) {
  if (const auto* whole = value.get<std::int64_t>()) return {static_cast<double>(*whole)};
  if (const double* real = value.get<double>()) return {*real};
  if (const Quantity* quantity = value.get<Quantity>()) return {static_cast<double>(quantity->count)};
  if (const Range* range = value.get<Range>()) return {range->lo, range->hi};
  std::vector<double> numbers;
  if (const List* list = value.get<List>()) {
    for (const Value& item : *list) {
      for (double number : numbers_in(item)) numbers.push_back(number);
    }
  }
  return numbers;
}

bool in_bounds(const SettingSpec& spec, double number) {
  if (spec.lo && (number < *spec.lo || (spec.lo_open && number == *spec.lo))) return false;
  return !spec.hi || number <= *spec.hi;
}

std::string bounds_text(const SettingSpec& spec) {
  if (spec.lo && spec.hi && !spec.lo_open)
    return "from " + double_text(*spec.lo) + " to " + double_text(*spec.hi) + ", both included";
  std::string low = spec.lo ? (spec.lo_open ? "more than " : "at least ") + double_text(*spec.lo) : "";
  std::string high = spec.hi ? "at most " + double_text(*spec.hi) : "";
  return low + (spec.lo && spec.hi ? " and " : "") + high;
}

bool is_empty_text(const Value& value) {
  const auto* text = value.get<std::string>();
  return text != nullptr && text->empty();
}

std::string example_of(const SettingSpec& spec) {
  switch (spec.type) {
    case SettingType::duration: return spec.name + " = 30s";
    case SettingType::tokens: return spec.name + " = 16Ki tokens";
    case SettingType::seqs: return spec.name + " = 64 seqs";
    case SettingType::bytes: return spec.name + " = 2GiB";
    case SettingType::int_range: return spec.name + " = 2..3";
    case SettingType::real_list: return spec.name + " = [0.9, 0.99]";
    case SettingType::word_list: return spec.name + " = [" + spec.words.front() + "]";
    case SettingType::text:
    case SettingType::texts: return spec.name + " = \"...\"";
    default: return "";
  }
}

}  // namespace

std::string describe(const SettingSpec& spec) {
  switch (spec.type) {
    case SettingType::boolean: return "true or false";
    case SettingType::integer: return "a whole number";
    case SettingType::real: return "a number";
    case SettingType::word: return "one of " + quoted_list(spec.words, "and");
    case SettingType::word_list: return "a list of words, such as `" + spec.words.front() + "`";
    case SettingType::text: return "a string";
    case SettingType::texts: return "a string or a list of strings";
    case SettingType::duration: return "a duration with its unit (ms, s, m, h)";
    case SettingType::tokens: return "a number of `tokens`";
    case SettingType::seqs: return "a number of `seqs`";
    case SettingType::bytes: return "a size with its unit (B, KiB, MiB, GiB)";
    case SettingType::int_range: return "a range of whole numbers, both ends included";
    case SettingType::real_list: return "a list of numbers";
    case SettingType::word_or_real: return "a number or one of " + quoted_list(spec.words, "and");
    case SettingType::call: return "a call of " + quoted_list(call_names(spec));
    case SettingType::real_or_call: return "a number or a call of " + quoted_list(call_names(spec));
  }
  return "";
}

std::optional<Value> Evaluator::fit(const SettingSpec& spec, const Value& value, Span span, const std::string& owner) {
  std::optional<Value> typed = converted(spec.type, value, spec);
  if (!typed) {
    Diagnostic& message =
        diagnostics_.error("E0309", span, "`" + spec.name + "` of " + owner + " is " + describe(spec));
    message.label("this is " + kind_of(value));
    advise(spec, value, span, message);
    return std::nullopt;
  }
  const List* list = typed->get<List>();
  if (list != nullptr && spec.length && list->size() != *spec.length) {
    auto wanted = static_cast<std::int64_t>(*spec.length);
    diagnostics_.error("E0313", span, "`" + spec.name + "` of " + owner + " holds " + counted(wanted, "number"))
        .label("this list has " + std::to_string(list->size()))
        .help("e.g. `" + example_of(spec) + "`");
    return std::nullopt;
  }
  if (spec.type == SettingType::texts && std::any_of(list->begin(), list->end(), is_empty_text)) {
    diagnostics_.error("E0313", span, "`" + spec.name + "` of " + owner + " holds no empty text")
        .help("e.g. `" + example_of(spec) + "`; leave it out for none");
    return std::nullopt;
  }
  const Word* word = typed->get<Word>();
  if (word != nullptr && std::find(spec.words.begin(), spec.words.end(), word->name) == spec.words.end()) {
    Diagnostic& message = diagnostics_.error("E0313", span, "`" + spec.name + "` cannot be `" + word->name + "`");
    suggest(message, word->name, span, spec.words, "words");
    if (spec.words.size() > 8 || !message.fixes.empty()) message.note("it is " + describe(spec));
    return std::nullopt;
  }
  for (double number : numbers_in(*typed)) {
    if (in_bounds(spec, number)) continue;
    diagnostics_.error("E0313", span, "`" + spec.name + "` of " + owner + " must be " + bounds_text(spec))
        .label("this is " + to_text(*typed))
        .note(spec.doc.empty() ? describe(spec) : "`" + spec.name + "`: " + spec.doc);
    return std::nullopt;
  }
  return typed;
}

// The edit that makes the value fit, where it is plain; else an example.
void Evaluator::advise(const SettingSpec& spec, const Value& value, Span span, Diagnostic& message) {
  bool words = spec.type == SettingType::word || spec.type == SettingType::word_or_real;
  bool number = spec.type == SettingType::real || spec.type == SettingType::integer;
  const auto* text = value.get<std::string>();
  const Quantity* quantity = value.get<Quantity>();
  std::string right;
  if (text != nullptr && words && std::find(spec.words.begin(), spec.words.end(), *text) != spec.words.end())
    right = *text;
  bool digits = text != nullptr && !text->empty() && text->find_first_not_of("0123456789.") == std::string::npos;
  if (number && digits && std::isdigit(static_cast<unsigned char>(text->front())) != 0) right = *text;
  if (number && quantity != nullptr) right = std::to_string(quantity->count);
  if (value.get<std::int64_t>() != nullptr && spec.type == SettingType::tokens) right = to_text(value) + " tokens";
  if (value.get<std::int64_t>() != nullptr && spec.type == SettingType::seqs) right = to_text(value) + " seqs";
  std::string example = example_of(spec);
  if (!right.empty()) {
    message.fix("write `" + spec.name + " = " + right + "`", Applicability::likely, {{span, right}});
  } else if (!example.empty()) {
    message.help("e.g. `" + example + "`");
  }
}

// [q_proj, v_proj]: each word once, told of at its own place.
std::optional<Value> Evaluator::word_list(const SettingSpec& spec, const ast::Expr& expr, const std::string& owner) {
  const auto* written = std::get_if<ast::ListExpr>(&expr.data);
  if (written == nullptr && !std::holds_alternative<ast::Reference>(expr.data)) {
    std::optional<Value> value = evaluate(expr);
    return value ? fit(spec, *value, expr.span, owner) : std::nullopt;
  }
  std::vector<const ast::Expr*> items;
  if (written == nullptr) items.push_back(&expr);
  for (std::size_t i = 0; written != nullptr && i < written->items.size(); ++i) items.push_back(&written->items[i]);
  SettingSpec one = spec;
  one.type = SettingType::word;
  List list;
  for (const ast::Expr* item : items) {
    std::optional<Value> value = setting(one, item, item->span, owner);
    if (!value) return std::nullopt;
    if (std::find(list.begin(), list.end(), *value) != list.end()) {
      diagnostics_.error("E0318", item->span,
                         "`" + to_text(*value) + "` stands twice in `" + spec.name + "` of " + owner);
      return std::nullopt;
    }
    list.push_back(*value);
  }
  if (!list.empty()) return Value(std::move(list));
  diagnostics_.error("E0313", expr.span, "`" + spec.name + "` of " + owner + " holds at least one word")
      .help("e.g. `" + example_of(spec) + "`; leave it out for the default");
  return std::nullopt;
}

std::optional<Value> Evaluator::setting(const SettingSpec& spec, const ast::Expr* expr, Span span,
                                        const std::string& owner) {
  if (expr == nullptr) {
    if (spec.type == SettingType::boolean) return Value(true);
    diagnostics_.error("E0309", span, "`" + spec.name + "` of " + owner + " needs a value")
        .note("it is " + describe(spec));
    return std::nullopt;
  }
  if (spec.type == SettingType::word_list) return word_list(spec, *expr, owner);
  const auto* reference = std::get_if<ast::Reference>(&expr->data);
  bool words = spec.type == SettingType::word || spec.type == SettingType::word_or_real;
  if (words && reference != nullptr && !reference->index) {
    // A bare word is that word, unless it is none of them and a parameter has this name.
    const std::string& name = reference->name.text;
    const Symbol* symbol = scope_.find(name);
    bool is_word = std::find(spec.words.begin(), spec.words.end(), name) != spec.words.end();
    if (is_word || symbol == nullptr || symbol->kind != SymbolKind::param) {
      return fit(spec, Value(Word{name}), expr->span, owner);
    }
  }
  bool calls = spec.type == SettingType::call || spec.type == SettingType::real_or_call;
  if (const auto* call_expr = std::get_if<ast::Call>(&expr->data); calls && call_expr != nullptr) {
    bool is_function = call_expr->callee.text == "min" || call_expr->callee.text == "max";
    if (!is_function) return call(spec, *call_expr, owner);
  }
  if (reference != nullptr && !reference->index && scope_.find(reference->name.text) == nullptr) {
    report_unknown(reference->name).note("`" + spec.name + "` of " + owner + " is " + describe(spec));
    return std::nullopt;
  }
  std::optional<Value> value = evaluate(*expr);
  if (!value) return std::nullopt;
  return fit(spec, *value, expr->span, owner);
}

}  // namespace rlflow
