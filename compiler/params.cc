// Types, domains and overrides of parameters.
#include "compiler/params.h"

#include <algorithm>

#include "compiler/arithmetic.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

struct TypeName {
  const char* name;
  ParamType type;
};
constexpr TypeName kTypes[] = {{"int", ParamType::integer},       {"float", ParamType::real},
                               {"bool", ParamType::boolean},      {"string", ParamType::string},
                               {"path", ParamType::path},         {"word", ParamType::word},
                               {"duration", ParamType::duration}, {"tokens", ParamType::tokens},
                               {"seqs", ParamType::seqs},         {"bytes", ParamType::bytes}};

std::optional<ParamType> type_of(const ast::Name& name, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const TypeName& known : kTypes) {
    if (name.text == known.name) return known.type;
    names.push_back(known.name);
  }
  Diagnostic& message = diagnostics.error("E0214", name.span, "there is no parameter type `" + name.text + "`");
  suggest(message, name.text, name.span, names, "types");
  if (message.fixes.empty()) message.note("the types are " + quoted_list(names, "and"));
  return std::nullopt;
}

bool is_text(ParamType type) { return type == ParamType::string || type == ParamType::path; }

// As a setting of this type would be read, so that a parameter and a setting accept the same values.
SettingSpec spec_of(ParamType type, const std::string& name) {
  SettingSpec spec;
  spec.name = name;
  switch (type) {
    case ParamType::integer: spec.type = SettingType::integer; break;
    case ParamType::real: spec.type = SettingType::real; break;
    case ParamType::boolean: spec.type = SettingType::boolean; break;
    case ParamType::string:
    case ParamType::path: spec.type = SettingType::text; break;
    case ParamType::word: spec.type = SettingType::word; break;
    case ParamType::duration: spec.type = SettingType::duration; break;
    case ParamType::tokens: spec.type = SettingType::tokens; break;
    case ParamType::seqs: spec.type = SettingType::seqs; break;
    case ParamType::bytes: spec.type = SettingType::bytes; break;
  }
  return spec;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* whole = value.get<std::int64_t>()) return static_cast<double>(*whole);
  if (const double* real = value.get<double>()) return *real;
  if (const Quantity* quantity = value.get<Quantity>()) return static_cast<double>(quantity->count);
  return std::nullopt;
}

class Reader {
 public:
  Reader(Param& param, ParamType type, Evaluator& evaluator) : param_(param), type_(type), evaluator_(evaluator) {}

  std::optional<Value> value(const ast::Expr& expr) {
    const auto* bare = std::get_if<ast::Reference>(&expr.data);
    if (type_ == ParamType::word && bare != nullptr && evaluator_.scope().find(bare->name.text) == nullptr) {
      return Value(Word{bare->name.text});
    }
    std::optional<Value> raw = evaluator_.evaluate(expr);
    if (!raw) return std::nullopt;
    if (type_ == ParamType::word) return raw->get<Word>() ? raw : mismatch(*raw, expr.span);
    // A whole number in a float parameter, 0 without unit in a quantity: what a setting accepts too.
    Diagnostics quiet;
    Scope none;
    std::vector<Param> no_params;
    std::optional<Value> typed =
        Evaluator(none, no_params, quiet).fit(spec_of(type_, param_.name), *raw, expr.span, "");
    return typed ? typed : mismatch(*raw, expr.span);
  }

  void domain(const ast::Domain& domain) {
    std::vector<Value> items;
    for (const ast::Expr& expr : domain.items) {
      std::optional<Value> item = value(expr);
      if (!item) return;
      items.push_back(*item);
    }
    if (!domain.is_range) {
      param_.choices = std::move(items);
      return;
    }
    std::optional<double> lo = number_of(items[0]);
    std::optional<double> hi = number_of(items[1]);
    if (!lo || !hi || *lo > *hi) {
      evaluator_.diagnostics()
          .error("E0214", domain.span, "this range holds nothing")
          .note("value ranges include both ends");
      return;
    }
    param_.lo = lo;
    param_.hi = hi;
  }

  bool in_domain(const Value& value, Span span) {
    std::optional<double> number = number_of(value);
    bool below = param_.lo && number && *number < *param_.lo;
    bool above = param_.hi && number && *number > *param_.hi;
    bool chosen = param_.choices.empty() ||
                  std::find(param_.choices.begin(), param_.choices.end(), value) != param_.choices.end();
    if (!below && !above && chosen) return true;
    Diagnostic& message =
        evaluator_.diagnostics().error("E0213", span, "`" + param_.name + "` cannot be " + to_text(value));
    if (span.file != param_.span.file || span.begin < param_.span.begin || span.end > param_.span.end) {
      message.at(param_.span, "declared here");
    }
    if (below || above) {
      message.note("it is " + double_text(*param_.lo) + " to " + double_text(*param_.hi) + ", both included");
    } else {
      std::vector<std::string> texts;
      for (const Value& choice : param_.choices) texts.push_back(to_text(choice));
      message.note("it is one of " + quoted_list(texts, "and"));
    }
    return false;
  }

 private:
  std::optional<Value> mismatch(const Value& value, Span span) {
    evaluator_.diagnostics()
        .error("E0214", span, "`" + param_.name + "` is declared `" + param_type_name(type_) + "`")
        .label("this is " + kind_of(value));
    return std::nullopt;
  }

  Param& param_;
  ParamType type_;
  Evaluator& evaluator_;
};

// "int, 2 to 64, now 8"
std::string summary_of(const Param& param) {
  std::string text = param_type_name(param.type);
  if (param.lo && param.hi) text += ", " + double_text(*param.lo) + " to " + double_text(*param.hi);
  return text + (param.value.is_null() ? "" : ", now " + to_text(param.value));
}

}  // namespace

const char* param_type_name(ParamType type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.name;
  }
  return "";
}

Param resolve_param(const ast::ParamDecl& declaration, Span span, const std::string& address, Evaluator& evaluator,
                    Overrides& overrides, const SourceMap& sources) {
  Param param;
  param.name = address;
  param.doc = declaration.doc;
  param.span = span;
  param.name_span = declaration.name.span;
  param.value_span = declaration.value.span;
  const Override* given = overrides.take(address, "a parameter, " + declaration.type.text);
  std::optional<ParamType> type = type_of(declaration.type, evaluator.diagnostics());
  if (!type) return param;
  param.type = *type;
  Reader reader(param, *type, evaluator);
  if (declaration.domain) reader.domain(*declaration.domain);
  std::optional<Value> declared = reader.value(declaration.value);
  if (declared && reader.in_domain(*declared, declaration.value.span)) param.declared = param.value = *declared;
  overrides.describe(address, summary_of(param));
  if (given == nullptr) return param;

  param.origin = given->origin;
  param.value_span = given->value_span;
  param.value = Value();
  std::optional<Value> changed;
  if (is_text(*type) && given->is_text) {
    changed = Value(given->text);
  } else if (const ast::Expr* expr = overrides.value(*given, sources, evaluator.diagnostics())) {
    changed = reader.value(*expr);
  }
  if (changed && reader.in_domain(*changed, given->value_span)) param.value = *changed;
  return param;
}

}  // namespace rlflow
