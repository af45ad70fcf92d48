// Reads the parts that declarations are made of.
#include "compiler/resolve_parts.h"

#include <limits>

#include "compiler/arithmetic.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

// A whole number for a device; nullopt where it is none (reported).
std::optional<std::int32_t> device_number(const ast::Expr& expr, Evaluator& evaluator) {
  std::optional<Value> value = evaluator.evaluate(expr);
  if (!value) return std::nullopt;
  const auto* whole = value->get<std::int64_t>();
  if (whole != nullptr && *whole >= 0 && *whole <= 65536) return static_cast<std::int32_t>(*whole);
  evaluator.diagnostics().error("E0506", expr.span, "devices are numbered from 0").label("this is " + to_text(*value));
  return std::nullopt;
}

bool read_indices(const ast::Index& index, Evaluator& evaluator, DeviceRange& range) {
  std::vector<std::int32_t> numbers;
  for (const ast::Expr& item : index.items) {
    std::optional<std::int32_t> number = device_number(item, evaluator);
    if (!number) return false;
    numbers.push_back(*number);
  }
  range.first = numbers.front();
  range.last = index.is_range ? numbers.back() : numbers.back() + 1;
  if (index.is_range && range.first >= range.last) {
    evaluator.diagnostics()
        .error("E0506", index.span, "this range holds no device")
        .note("device ranges exclude the end: `gpu[0..4]` holds 0 to 3");
    return false;
  }
  for (std::size_t i = 0; !index.is_range && i < numbers.size(); ++i) {
    if (numbers[i] == range.first + static_cast<std::int32_t>(i)) continue;
    evaluator.diagnostics()
        .error("E0506", index.span, "the devices of a group follow each other")
        .help("write a range, e.g. `gpu[0..4]` for 0 to 3");
    return false;
  }
  return true;
}

// The text of names joined by `/`, as a path without quotes is read: `models/tiny`. Empty where it is something else.
std::string bare_text(const ast::Expr& expr, const Scope& scope) {
  if (const auto* name = std::get_if<ast::Reference>(&expr.data)) {
    return name->index || scope.find(name->name.text) != nullptr ? "" : name->name.text;
  }
  const auto* binary = std::get_if<ast::Binary>(&expr.data);
  if (binary == nullptr || binary->op != "/") return "";
  std::string left = bare_text(binary->operands[0], scope);
  std::string right = bare_text(binary->operands[1], scope);
  return left.empty() || right.empty() ? "" : left + "/" + right;
}

bool report_bare_text(const ast::Call& call, const ast::Expr& given, const char* what, Evaluator& evaluator) {
  std::string text = bare_text(given, evaluator.scope());
  if (text.empty()) return false;
  evaluator.diagnostics()
      .error("E0606", given.span, "`" + call.callee.text + "` needs " + what + " as a string")
      .label("this is no parameter")
      .fix("write it in quotes: `\"" + text + "\"`", Applicability::likely, {{given.span, "\"" + text + "\""}});
  return true;
}

// One constant string: a path, a command, a name.
std::optional<std::string> text_argument(const ast::Call& call, const char* what, Evaluator& evaluator) {
  if (call.arguments.empty() || call.arguments[0].name) {
    evaluator.diagnostics().error("E0303", call.span, "`" + call.callee.text + "` needs " + what);
    return std::nullopt;
  }
  const ast::Expr& given = call.arguments[0].value;
  if (report_bare_text(call, given, what, evaluator)) return std::nullopt;
  std::optional<Value> value = evaluator.evaluate(given);
  if (!value) return std::nullopt;
  const auto* text = value->get<std::string>();
  if (text != nullptr && !text->empty()) return *text;
  evaluator.diagnostics()
      .error("E0606", call.arguments[0].span, "`" + call.callee.text + "` needs " + what + " as a string")
      .label("this is " + (text ? "empty" : kind_of(*value)));
  return std::nullopt;
}

void report_more_arguments(const ast::Call& call, std::size_t from, Evaluator& evaluator) {
  for (std::size_t i = from; i < call.arguments.size(); ++i) {
    const ast::Argument& extra = call.arguments[i];
    std::string what = extra.name ? "has no argument `" + extra.name->text + "`" : "takes no more arguments";
    evaluator.diagnostics().error("E0304", extra.span, "`" + call.callee.text + "` " + what);
  }
}

void report_unknown_builtin(const ast::Call& call, const std::string& name, const std::vector<SourceSignature>& known,
                            SymbolKind kind, Evaluator& evaluator) {
  bool reward = kind == SymbolKind::reward;
  std::vector<std::string> names;
  for (const SourceSignature& signature : known) {
    if (signature.source == "builtin") names.push_back(signature.name);
  }
  Span text = call.arguments[0].value.span;
  Span inside{text.file, text.begin + 1, text.end > text.begin ? text.end - 1 : text.end};
  Diagnostic& message = evaluator.diagnostics().error(
      reward ? "E0602" : "E0601", text,
      std::string("there is no ") + (reward ? "reward function" : "task generator") + " `" + name + "`");
  bool literal = std::holds_alternative<ast::String>(call.arguments[0].value.data);
  suggest(message, name, literal ? inside : text, names, "built-ins");
  if (!message.fixes.empty()) message.note("the built-ins are " + quoted_list(names, "and"));
  message.note(reward ? "your own code: `exec(\"command\")`" : "your own data: `jsonl(\"path\")`");
}

}  // namespace

bool define_symbol(Scope& scope, const ast::Name& name, const Symbol& symbol, Diagnostics& diagnostics) {
  if (name.text.empty()) return true;  // the syntax error has been told
  auto [entry, fresh] = scope.names.emplace(name.text, symbol);
  if (fresh) return true;
  scope.doubled.insert(symbol.kind);
  diagnostics.error("E0202", name.span, "`" + name.text + "` is defined twice")
      .label("again here")
      .at(entry->second.span, "first here")
      .note("declarations, imports and node outputs of a file share one set of names")
      .help("choose another name");
  return false;
}

Diagnostic* report_unreachable(const Scope& scope, const std::string& name, Span span, Diagnostics& diagnostics) {
  auto later = scope.declared.find(name);
  if (later != scope.declared.end() && later->second.begin > span.begin) {
    Diagnostic& message = diagnostics.error("E0205", span, "`" + name + "` is declared further down, after its use");
    return &message.at(later->second, "declared here").help("move its declaration up, in front of this line");
  }
  std::size_t dot = name.find('.');
  if (dot == std::string::npos || scope.find(name.substr(0, dot)) != nullptr) return nullptr;
  std::string alias = name.substr(0, dot);
  Span at{span.file, span.begin, span.begin + static_cast<std::uint32_t>(dot)};
  Diagnostic& message = diagnostics.error("E0201", at, "there is no import `" + alias + "`");
  suggest(message, alias, at, scope.names_of(SymbolKind::import), plural_of(SymbolKind::import));
  if (message.fixes.empty()) message.help("import the file first: `import \"FILE.rlflow\" as " + alias + "`");
  return &message;
}

const Symbol* expect_symbol(const Scope& scope, const ast::Name& name, SymbolKind kind, Diagnostics& diagnostics) {
  const Symbol* symbol = scope.find(name.text);
  if (symbol == nullptr) {
    if (report_unreachable(scope, name.text, name.span, diagnostics) != nullptr) return nullptr;
    const std::vector<std::string> candidates = scope.names_of(kind);
    if (scope.is_told_elsewhere(kind, name.text, candidates)) return nullptr;
    std::string noun = noun_of(kind);
    Diagnostic& message = diagnostics.error("E0201", name.span,
                                            "there is no " + noun.substr(noun.find(' ') + 1) + " `" + name.text + "`");
    suggest(message, name.text, name.span, candidates, plural_of(kind));
    return nullptr;
  }
  if (symbol->kind == SymbolKind::broken) return nullptr;
  if (symbol->kind == kind) return symbol;
  Diagnostic& message = diagnostics.error(
      "E0206", name.span,
      "`" + name.text + "` is " + noun_of(symbol->kind) + ", and " + noun_of(kind) + " is needed here");
  message.at(symbol->span, "defined here");
  std::vector<std::string> fitting = scope.names_of(kind);
  if (fitting.size() == 1) {
    message.fix("did you mean `" + fitting[0] + "`?", Applicability::guess, {{name.span, fitting[0]}});
  } else if (!fitting.empty() && fitting.size() <= 8) {
    message.note(std::string("the ") + plural_of(kind) + " are " + quoted_list(fitting, "and"));
  }
  return nullptr;
}

DeviceRange read_device_range(const ast::Reference& devices, Evaluator& evaluator) {
  DeviceRange range;
  const std::string& name = devices.name.text;
  if (name == "cpu") {
    range.known = !devices.index;
    if (devices.index) {
      evaluator.diagnostics()
          .error("E0506", devices.index->span, "the CPU of a machine is one device and has no numbers")
          .help("write `cpu { threads = 4 }` to use 4 of its threads");
    }
    return range;
  }
  range.device = DeviceKind::gpu;
  if (name != "gpu") {
    Diagnostic& message =
        evaluator.diagnostics().error("E0506", devices.name.span, "there is no kind of device `" + name + "`");
    suggest(message, name, devices.name.span, {"cpu", "gpu"}, "kinds");
    return range;
  }
  if (!devices.index) {
    evaluator.diagnostics()
        .error("E0506", devices.name.span, "which GPUs?")
        .help("give a range that excludes its end: `gpu[0..4]` holds 0 to 3");
    return range;
  }
  range.known = read_indices(*devices.index, evaluator, range);
  return range;
}

void share_devices(Group& group, Diagnostics& diagnostics) {
  auto whole = [&group](const char* name, std::int32_t otherwise) {
    const Value* value = setting(group.settings, name);
    const auto* number = value ? value->get<std::int64_t>() : nullptr;
    return number && *number <= 65536 ? static_cast<std::int32_t>(*number) : otherwise;
  };
  if (!group.known) return;
  std::int32_t size = group.last - group.first;
  group.threads = whole("threads", 1);
  group.tp = whole("tp", 1);
  group.dp = whole("dp", group.tp > 0 && size % group.tp == 0 ? size / group.tp : 1);
  if (static_cast<std::int64_t>(group.tp) * group.dp == size) return;
  auto written = group.settings.find(group.settings.count("dp") > 0 ? "dp" : "tp");
  Span at = written != group.settings.end() && written->second.span.valid() ? written->second.span : group.devices_span;
  Diagnostic& message =
      diagnostics.error("E0505", at, "tp and dp do not share out the devices of `" + group.name + "`");
  message.label("tp " + std::to_string(group.tp) + " x dp " + std::to_string(group.dp) + " = " +
                std::to_string(static_cast<std::int64_t>(group.tp) * group.dp));
  if (!(at == group.devices_span)) message.at(group.devices_span, counted(size, "device"));
  message.note("tp x dp is the number of devices; dp unstated is devices / tp");
  if (size == 1) message.help("with one device `tp` and `dp` are 1, e.g. `-s " + group.name + ".tp=1`");
  group.known = false;
}

bool read_model_source(const ast::Call& call, Evaluator& evaluator, Model& model) {
  model.loader = call.callee.text;
  Diagnostics& diagnostics = evaluator.diagnostics();
  if (model.loader != "load" && model.loader != "init") {
    Diagnostic& message =
        diagnostics.error("E0605", call.callee.span, "a model cannot come from `" + model.loader + "`");
    suggest(message, model.loader, call.callee.span, {"load", "init", "base_of"}, "ways");
    message.note("`load(\"path\")` reads a folder with its weights, `init(\"path\", seed=1)` draws random ones");
    return false;
  }
  std::optional<std::string> path = text_argument(call, "the path of a model folder", evaluator);
  if (!call.arguments.empty()) model.path_span = call.arguments[0].value.span;
  model.path = path.value_or("");
  bool seeded = false;
  if (model.loader == "init") {
    for (std::size_t i = 1; i < call.arguments.size(); ++i) {
      const ast::Argument& argument = call.arguments[i];
      if (seeded || (argument.name && argument.name->text != "seed")) {
        report_more_arguments(call, i, evaluator);
        return false;
      }
      SettingSpec seed;
      seed.name = "seed";
      seed.type = SettingType::integer;
      seed.lo = 0;
      std::optional<Value> value = evaluator.setting(seed, &argument.value, argument.span, "`init`");
      if (!value) return false;
      model.init_seed = *value->get<std::int64_t>();
      seeded = true;
    }
    if (!seeded) {
      diagnostics.error("E0303", call.span, "`init` needs `seed`")
          .note("random weights are drawn from it, so that a run can be repeated")
          .help("add `seed=1`");
      return false;
    }
  } else {
    report_more_arguments(call, 1, evaluator);
  }
  return path.has_value() && (seeded || call.arguments.size() == 1);
}

ModelId read_adapted(const ast::Call& call, const std::string& own, const Scope& scope, Pipeline& pipeline,
                     Diagnostics& diagnostics) {
  const auto* name = call.arguments.size() == 1 && !call.arguments[0].name
                         ? std::get_if<ast::Reference>(&call.arguments[0].value.data)
                         : nullptr;
  if (name == nullptr || name->index) {
    diagnostics.error("E0303", call.span, "`base_of` needs one model")
        .note("`base_of(policy)` is what the adapters of `policy` are added to")
        .help("name a model that has `lora`");
    return {};
  }
  if (name->name.text == own) {
    diagnostics.error("E0416", name->name.span, "`" + own + "` cannot be the base of itself")
        .help("give the base a name of its own: `model ref = base_of(" + own + ")`");
    return {};
  }
  const Symbol* symbol = expect_symbol(scope, name->name, SymbolKind::model, diagnostics);
  if (symbol == nullptr) return {};
  Model& adapted = pipeline.models[static_cast<std::size_t>(symbol->index)];
  adapted.used = true;
  if (!adapted.known) return {};
  if (setting(adapted.settings, "lora") != nullptr) return ModelId(symbol->index);
  const std::string& other = name->name.text;
  Diagnostic& message =
      diagnostics.error("E0416", name->name.span, "`" + other + "` has no adapters, so it has no base");
  message.label("trained as a whole, or not at all").at(adapted.name_span, "declared without `lora`");
  message.note("its first weights change with it; a reference needs a copy of them");
  message.help("write `" + adapted.loader + "(\"" + adapted.path + "\"...)` here, or give `" + other +
               "` a `lora(rank=16, alpha=32)`");
  return {};
}

void read_model_settings(Model& model, Diagnostics& diagnostics) {
  auto word = [&model](const char* name) {
    const Value* value = setting(model.settings, name);
    return value && value->get<Word>() ? value->get<Word>()->name : std::string();
  };
  const Value* trainable = setting(model.settings, "trainable");
  model.trainable = trainable && trainable->get<bool>() && *trainable->get<bool>();
  model.dtype = word("dtype") == "bf16" ? Dtype::bf16 : Dtype::f32;
  model.head = word("head") == "value" ? Head::value : word("head") == "reward" ? Head::reward : Head::lm;
  auto optim = model.settings.find("optim");
  bool has_optim = optim != model.settings.end();
  auto lora = model.settings.find("lora");
  if (model.known && lora != model.settings.end() && !model.trainable) {
    model.known = false;
    diagnostics.error("E0414", lora->second.span, "`" + model.name + "` has adapters, but is not `trainable`")
        .label("never trained")
        .note("adapters begin as nothing, so a frozen model with them is its base")
        .help("add `trainable` and `optim`, or take `lora` away");
    return;
  }
  if (model.known && lora != model.settings.end() && model.head != Head::lm) {
    model.known = false;
    Diagnostic& message = diagnostics.error("E0414", lora->second.span,
                                            "adapters train no head, and `" + model.name + "` needs its head trained");
    message.label("the head would stay what it is")
        .note("a `" + word("head") + "` head is new, or judges: without training it says nothing of this task")
        .help("take `lora` away: a critic is trained as a whole");
    return;
  }
  if (!model.known || has_optim == model.trainable) return;
  model.known = false;
  if (has_optim) {
    diagnostics.error("E0406", optim->second.span, "`" + model.name + "` has an optimizer, but is not `trainable`")
        .label("never used")
        .help("add `trainable`, or take `optim` away");
  } else {
    diagnostics.error("E0406", model.name_span, "`" + model.name + "` is trainable and has no optimizer")
        .label("no `optim`")
        .help("add `optim = adamw(lr=1e-6)`");
  }
}

void resolve_source(const ast::Call& call, const std::vector<SourceSignature>& known, SymbolKind kind,
                    Evaluator& evaluator, Source& source) {
  source.source = call.callee.text;
  std::vector<std::string> ways;
  for (const SourceSignature& signature : known) {
    if (ways.empty() || ways.back() != signature.source) ways.push_back(signature.source);
  }
  bool is_way = false;
  for (const std::string& way : ways) is_way = is_way || way == source.source;
  if (!is_way) {
    std::string noun = kind == SymbolKind::reward ? "a reward function" : "a data set";
    Diagnostic& message =
        evaluator.diagnostics().error("E0605", call.callee.span, noun + " cannot come from `" + source.source + "`");
    suggest(message, source.source, call.callee.span, ways, "ways");
    return;
  }
  const char* what = source.source == "builtin" ? "a name" : source.source == "exec" ? "a command" : "a path";
  std::optional<std::string> argument = text_argument(call, what, evaluator);
  report_more_arguments(call, 1, evaluator);
  if (!argument) return;
  source.argument = *argument;
  source.argument_span = call.arguments[0].value.span;
  for (const SourceSignature& signature : known) {
    if (signature.source != source.source) continue;
    if (source.source != "builtin" || signature.name == source.argument) source.signature = &signature;
  }
  if (source.signature == nullptr) report_unknown_builtin(call, source.argument, known, kind, evaluator);
}

std::vector<const SettingSpec*> pointers(const std::vector<SettingSpec>& specs) {
  std::vector<const SettingSpec*> list;
  for (const SettingSpec& spec : specs) list.push_back(&spec);
  return list;
}

}  // namespace rlflow
