// The outline, read from the syntax tree.
#include "cli/lsp/symbols.h"

#include <algorithm>

#include "cli/lsp/described.h"
#include "cli/lsp/text_index.h"

namespace rlflow::lsp {
namespace {

using nlohmann::json;

// Of the protocol.
enum class OutlineKind {
  module = 2,
  group = 3,
  model = 5,
  reward = 12,
  output = 13,
  parameter = 14,
  data = 18,
  replica = 19,
  broken = 20,
  schedule = 24,
  effect = 25,
  flow = 6
};

class Outline {
 public:
  explicit Outline(const Document& document) : pipeline_(document.analysis.pipeline), index_(document.text) {}

  json declarations(const std::vector<ast::Decl>& declarations) {
    json list = json::array();
    for (const ast::Decl& declaration : declarations) add(list, declaration);
    return list;
  }

 private:
  json symbol(const std::string& name, OutlineKind kind, const std::string& detail, Span whole, Span part) const {
    std::uint32_t begin = std::min(whole.begin, part.begin), end = std::max(whole.end, part.end);
    return {{"name", name},
            {"kind", static_cast<int>(kind)},
            {"detail", detail},
            {"range", index_.range(begin, end)},
            {"selectionRange", index_.range(part.begin, part.end)}};
  }

  // A name that is not there yet has no line in an outline.
  void add(json& list, const ast::Name& name, OutlineKind kind, const std::string& detail, Span whole) const {
    if (name.span.valid() && !name.text.empty()) list.push_back(symbol(name.text, kind, detail, whole, name.span));
  }

  void add(json& list, const ast::Decl& declaration) {
    const Span span = declaration.span;
    if (const auto* import = std::get_if<ast::ImportDecl>(&declaration.data)) {
      add(list, import->alias, OutlineKind::module, import->path, span);
    } else if (const auto* param = std::get_if<ast::ParamDecl>(&declaration.data)) {
      add(list, param->name, OutlineKind::parameter, param->type.text, span);
    } else if (const auto* group = std::get_if<ast::GroupDecl>(&declaration.data)) {
      add(list, group->name, OutlineKind::group, group->device.text, span);
    } else if (const auto* model = std::get_if<ast::ModelDecl>(&declaration.data)) {
      add(list, model->name, OutlineKind::model, model->group ? "on " + model->group->text : "base", span);
    } else if (const auto* replica = std::get_if<ast::ReplicaDecl>(&declaration.data)) {
      add(list, replica->name, OutlineKind::replica, "of " + replica->model.text, span);
    } else if (const auto* data = std::get_if<ast::DataDecl>(&declaration.data)) {
      add(list, data->name, OutlineKind::data, data->source.callee.text, span);
    } else if (const auto* reward = std::get_if<ast::RewardDecl>(&declaration.data)) {
      add(list, reward->name, OutlineKind::reward, reward->source.callee.text, span);
    } else if (const auto* flow = std::get_if<ast::FlowDecl>(&declaration.data)) {
      add(list, flow->name, OutlineKind::flow, "flow", span);
      if (!list.empty() && flow->name.span.valid()) list.back()["children"] = statements(flow->body);
    } else if (const auto* broken = std::get_if<ast::BrokenDecl>(&declaration.data)) {
      for (const ast::Name& name : broken->defines) add(list, name, OutlineKind::broken, "cannot be read", span);
    }
  }

  json statements(const std::vector<ast::Stmt>& body) {
    json list = json::array();
    for (const ast::Stmt& statement : body) add(list, statement);
    return list;
  }

  void add(json& list, const ast::Stmt& statement) {
    const Span span = statement.span;
    if (const auto* node = std::get_if<ast::NodeStmt>(&statement.data)) {
      if (node->outputs.empty()) add(list, node->call.callee, OutlineKind::effect, "", span);
      for (const ast::Output& output : node->outputs) {
        add(list, output.name, OutlineKind::output, type_of(output) + node->call.callee.text, span);
      }
    } else if (const auto* sync = std::get_if<ast::SyncStmt>(&statement.data)) {
      list.push_back(
          symbol("sync " + sync->model.text + " -> " + sync->replica.text, OutlineKind::schedule, "", span, span));
    } else if (const auto* every = std::get_if<ast::EveryStmt>(&statement.data)) {
      list.push_back(symbol("every", OutlineKind::schedule, "", span, every->head));
      list.back()["children"] = statements(every->body);
    } else if (std::holds_alternative<ast::StopStmt>(statement.data)) {
      list.push_back(symbol("stop after", OutlineKind::schedule, "", span, span));
    } else if (const auto* broken = std::get_if<ast::BrokenStmt>(&statement.data)) {
      for (const ast::Name& name : broken->defines) add(list, name, OutlineKind::broken, "cannot be read", span);
    }
  }

  // "traj[B=256, T=34] = ", or nothing where it is not known.
  std::string type_of(const ast::Output& output) const {
    OutputPlace place = output_at(pipeline_, output.name.span);
    return place.output == nullptr || !place.output->known ? "" : sized_type(pipeline_, *place.output) + " = ";
  }

  const Pipeline& pipeline_;
  TextIndex index_;
};

}  // namespace

json document_symbols(const Document& document) {
  if (document.analysis.files.empty()) return json::array();
  return Outline(document).declarations(document.analysis.files[0].decls);
}

}  // namespace rlflow::lsp
