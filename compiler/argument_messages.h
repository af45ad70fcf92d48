// What is told about arguments of a node that do not fit its signature.
#pragma once

#include <string>
#include <vector>

#include "compiler/bind_node.h"

namespace rlflow {

// What an argument of this role is declared as.
SymbolKind symbol_of(ArgumentRole role);

struct ArgumentMessages {
  const ast::NodeStmt& statement;
  NodeId id;
  const Pipeline& pipeline;
  const Scope& scope;
  const SourceMap& sources;
  Diagnostics& diagnostics;

  void unknown_op(const Catalog& catalog) const;
  void unknown_name(const ArgumentSpec& spec, const Given& given) const;
  void extra_argument(const Given& given, const NodeSignature& signature, const Catalog& catalog) const;
  // All that is missing, in one message.
  void missing_arguments(const std::vector<const ArgumentSpec*>& missing, const NodeSignature& signature) const;
  // Two inputs, each of which would fit in the other's place.
  void swapped(const Given& first, const Given& second) const;
  void behind_named(const Given& given, const Given& named, const ArgumentSpec& spec) const;
  void wrong_role(const ArgumentSpec& spec, const Given& given) const;
  void wrong_kind(const ArgumentSpec& spec, const Given& given, const NodeSignature& signature) const;
  void wrong_head(const ArgumentSpec& spec, const Given& given, const Model& model, const std::string& head) const;
  void frozen_model(const Given& given, const Model& model) const;
  void removed_input(const ArgumentSpec& spec, const Given& given) const;
  void different_origin(const Given& given, DimId its, const Given& other, DimId wanted,
                        const std::string& letter) const;

 private:
  std::string op() const { return "`" + statement.call.callee.text + "`"; }
  std::string written(Span span) const { return "`" + std::string(sources.text(span)) + "`"; }
  // Earlier outputs of one of these kinds, newest last.
  std::vector<const NodeOutput*> outputs_of(const std::vector<Kind>& kinds) const;
  bool is_one_too_early(const ArgumentSpec& spec, const Given& given, const NodeSignature& signature) const;
  void offer_argument(const ArgumentSpec& spec, Diagnostic& message) const;
  void offer_unnamed(const ArgumentSpec& spec, const std::string& name, Diagnostic& message) const;
};

}  // namespace rlflow
