// The positions of completion, one function each; a file a kind of place: complete_statement.cc, complete_inputs.cc,
// complete_settings.cc. What they share is in completion.cc.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "cli/lsp/completion.h"
#include "cli/lsp/described.h"

namespace rlflow::lsp {

// Lives for one request; borrows everything.
class Completer {
 public:
  Completer(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog);

  std::vector<Completion> run();

 private:
  using ParamTypes = std::vector<ParamType>;

  // ---- completion.cc: what is offered, each label once
  void add(const std::string& label, CompletionKind kind, std::string detail = "", std::string doc = "",
           std::string insert = "");
  void add_all(std::initializer_list<const char*> labels, CompletionKind kind);
  void add_name(const std::string& name, const Definition& definition);
  void names_of(SymbolKind kind);
  // Params of these types; of words, those that hold one of `words`.
  void params(const ParamTypes& types, const std::vector<std::string>& words = {});

  // ---- complete_statement.cc
  void place();
  void declarations();
  void statements();
  void add_op(const NodeSignature& signature);
  void ops();
  void in_declaration();
  void sources(std::string_view keyword);
  void source_names();
  void value_of_param();
  void in_statement();
  void condition();
  void in_sync(std::string_view before);
  void kinds();

  // ---- complete_inputs.cc
  void in_call(const Frame& frame);
  void in_source(const Frame& frame, const WrittenCall& call);
  void names_for(const ArgumentSpec& spec);
  void models_for(const ArgumentSpec& spec);
  void metrics_of(const std::string& name, const OutputPlace& place);
  void outputs_for(const ArgumentSpec& spec);
  void missing_names(const NodeSignature& signature, const WrittenCall& call);
  void previous(const Frame& frame);

  // ---- complete_settings.cc
  void in_settings(const Frame& frame);
  void add_setting(const SettingSpec& spec, const std::string& owner, const std::string& assign);
  void in_list();
  void in_call_value(const Frame& settings, const Frame& frame, const std::string& callee);
  void value_of(const SettingSpec& spec);
  void words(const SettingSpec& spec);
  void units(bool behind_number, ParamType type, std::initializer_list<const char*> names);

  const Cursor& cursor_;
  const Analysis& analysis_;
  const NameIndex& names_;
  const Catalog& catalog_;
  std::map<std::string, const Definition*> visible_;
  std::vector<Completion> list_;
};

}  // namespace rlflow::lsp
