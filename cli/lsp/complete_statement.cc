// What may stand in a declaration or a statement, outside its brackets?
#include <algorithm>

#include "cli/catalog_text.h"
#include "cli/lsp/completer.h"
#include "cli/lsp/described.h"

namespace rlflow::lsp {
namespace {

constexpr const char* kParamTypes[] = {"int",  "float",    "bool",   "string", "path",
                                       "word", "duration", "tokens", "seqs",   "bytes"};

// Params whose values may stand in the value of a param of the type that is written `name`.
std::vector<ParamType> declared_types(std::string_view name) {
  constexpr ParamType kTypes[] = {ParamType::integer, ParamType::real, ParamType::boolean,  ParamType::string,
                                  ParamType::path,    ParamType::word, ParamType::duration, ParamType::tokens,
                                  ParamType::seqs,    ParamType::bytes};
  if (name == "float") return {ParamType::integer, ParamType::real};
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (name == kParamTypes[i]) return {kTypes[i]};
  }
  return {};
}

}  // namespace

void Completer::place() {
  const Frame* top = cursor_.top();
  if (top == nullptr) return cursor_.starts_statement() ? declarations() : in_declaration();
  switch (top->bracket) {
    case Bracket::block: return cursor_.starts_statement() ? statements() : in_statement();
    case Bracket::settings: return in_settings(*top);
    case Bracket::call: return in_call(*top);
    case Bracket::index: return in_list();
    case Bracket::set: return params(declared_types(cursor_.statement_word(3)));
  }
}

void Completer::declarations() {
  if (cursor_.opens_file()) add("rlflow 1", CompletionKind::keyword, "the version of the language comes first");
  add_all({"param", "group", "model", "replica", "data", "reward", "import"}, CompletionKind::keyword);
  if (analysis_.pipeline.flow.empty()) add("flow", CompletionKind::keyword);
}

void Completer::statements() {
  if (!cursor_.in_every()) {
    add("sync", CompletionKind::keyword, "sync MODEL -> REPLICA every N steps lag L");
    add("every", CompletionKind::keyword, "every N steps { … }");
    add("stop after", CompletionKind::keyword, "stop after N");
  }
  for (const NodeSignature& signature : catalog_.nodes) {
    bool effect = std::none_of(signature.outputs.begin(), signature.outputs.end(),
                               [](const OutputSpec& output) { return !output.carried; });
    if (effect && signature.only_in_every == cursor_.in_every()) add_op(signature);
  }
}

void Completer::add_op(const NodeSignature& signature) {
  add(signature.op, CompletionKind::function, call_text(signature), describe(signature));
}

void Completer::ops() {
  for (const NodeSignature& signature : catalog_.nodes) {
    if (cursor_.in_every() || !signature.only_in_every) add_op(signature);
  }
}

void Completer::in_declaration() {
  const std::string_view keyword = cursor_.statement_word(0), before = cursor_.before(0);
  if (before == "on") return names_of(SymbolKind::group);
  if (keyword == "param" && before == ":") {
    for (const char* type : kParamTypes) add(type, CompletionKind::type);
    return;
  }
  if (before == "=") return sources(keyword);
  if (keyword == "param" && cursor_.statement_has("=")) {
    if (!cursor_.statement_has("in") && before.find_first_of("+-*/%<>") == std::string_view::npos)
      add("in", CompletionKind::keyword, "in lo..hi, both ends included");
    return params(declared_types(cursor_.statement_word(3)));
  }
  bool placed = keyword == "model" || keyword == "replica";
  if (placed && cursor_.statement_has("=") && !cursor_.statement_has("on")) add("on", CompletionKind::keyword);
  if (keyword == "import" && !cursor_.statement_has("as")) add("as", CompletionKind::keyword);
}

void Completer::sources(std::string_view keyword) {
  if (keyword == "param") return value_of_param();
  if (keyword == "replica") return names_of(SymbolKind::model);
  if (keyword == "group") {
    add("cpu", CompletionKind::word);
    return add("gpu", CompletionKind::word, "gpu[first..end], the end excluded");
  }
  if (keyword == "model") {
    add("load", CompletionKind::function, "load(\"path\"): a folder with its weights");
    add("init", CompletionKind::function, "init(\"path\", seed=1): random weights");
    return add("base_of", CompletionKind::function, "base_of(model): the weights that its adapters are added to");
  }
  for (const SourceSignature& source : keyword == "data" ? catalog_.data : catalog_.rewards) {
    std::string argument = source.name.empty() ? "" : "\"" + source.name + "\"";
    if (keyword == "data" || keyword == "reward") {
      add(source.source + "(" + argument + ")", CompletionKind::function, source.doc, describe(source));
    }
  }
}

void Completer::source_names() {
  const Frame* top = cursor_.top();
  if (top == nullptr || top->bracket != Bracket::call || top->commas > 0) return;
  const std::string_view keyword = cursor_.statement_word(0);
  if (cursor_.call_at(top->open).callee != "builtin") return;
  for (const SourceSignature& source : keyword == "data" ? catalog_.data : catalog_.rewards) {
    if (!source.name.empty()) add(source.name, CompletionKind::text, source.doc, describe(source));
  }
}

void Completer::in_statement() {
  const std::string_view keyword = cursor_.statement_word(0), before = cursor_.before(0);
  if (keyword == "sync") return in_sync(before);
  if (keyword == "every") {
    if (before == "every") return params({ParamType::integer});
    return add_all({"steps", "step", "and at start"}, CompletionKind::keyword);
  }
  if (keyword == "stop") return before == "stop" ? add("after", CompletionKind::keyword) : params({ParamType::integer});
  if (before == "on") return names_of(SymbolKind::group);
  if (before == "=") return ops();
  if (before == ":") return kinds();
  if (cursor_.statement_has("when")) return condition();
  if (before != ")") return;
  if (!cursor_.statement_has("on")) add("on", CompletionKind::keyword, "on GROUP");
  add("when", CompletionKind::keyword, "when CONDITION: else the node is removed");
}

void Completer::in_sync(std::string_view before) {
  if (before == "sync") return names_of(SymbolKind::model);
  if (before == "->") return names_of(SymbolKind::replica);
  if (before == "every" || before == "lag" || before == "<=") return params({ParamType::integer});
  if (!cursor_.statement_has("->")) return;
  if (!cursor_.statement_has("every")) return add("every", CompletionKind::keyword);
  if (cursor_.before(1) == "every") add_all({"step", "steps"}, CompletionKind::unit);
  if (!cursor_.statement_has("lag")) add("lag", CompletionKind::keyword);
}

void Completer::kinds() {
  for (Kind kind : kAllKinds) {
    if (kind != Kind::cursor) add(std::string(kind_name(kind)), CompletionKind::type, "", describe(kind));
  }
}

void Completer::value_of_param() {
  const std::string_view type = cursor_.statement_word(3);
  params(declared_types(type));
  if (type == "bool") return add_all({"true", "false", "not"}, CompletionKind::word);
  if (type != "string" && type != "path" && type != "word") add_all({"min", "max"}, CompletionKind::function);
}

// Whatever can be compared.
void Completer::condition() {
  params({ParamType::integer, ParamType::real, ParamType::boolean, ParamType::duration, ParamType::tokens,
          ParamType::seqs, ParamType::bytes});
  add_all({"min", "max"}, CompletionKind::function);
  add_all({"true", "false", "not"}, CompletionKind::word);
}

}  // namespace rlflow::lsp
