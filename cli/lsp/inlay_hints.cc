// Inferred types beside the outputs of the flow.
#include "cli/lsp/inlay_hints.h"

#include "cli/lsp/described.h"

namespace rlflow::lsp {
namespace {

class HintFinder {
 public:
  explicit HintFinder(const Pipeline& pipeline) : pipeline_(pipeline) {}

  std::vector<InlayHint> run(const ast::File& file) {
    for (const ast::Decl& declaration : file.decls) {
      if (const auto* flow = std::get_if<ast::FlowDecl>(&declaration.data)) visit(flow->body);
    }
    return std::move(hints_);
  }

 private:
  void visit(const std::vector<ast::Stmt>& body) {
    for (const ast::Stmt& statement : body) {
      if (const auto* every = std::get_if<ast::EveryStmt>(&statement.data)) visit(every->body);
      const auto* node = std::get_if<ast::NodeStmt>(&statement.data);
      if (node == nullptr) continue;
      for (const ast::Output& output : node->outputs) hint(output);
    }
  }

  void hint(const ast::Output& written) {
    OutputPlace place = output_at(pipeline_, written.name.span);
    if (place.output == nullptr || !place.output->known) return;
    if (!written.type) {
      hints_.push_back({written.name.span.end, " : " + sized_type(pipeline_, *place.output)});
      return;
    }
    std::string sizes;
    for (DimId id : place.output->dims) {
      const Dim& dim = pipeline_.dims[id.index()];
      bool made_here = dim.maker.valid() && &pipeline_.node(dim.maker) == place.node;
      if (made_here && dim.size) sizes += (sizes.empty() ? " " : ", ") + dim.name + "=" + std::to_string(*dim.size);
    }
    if (!sizes.empty()) hints_.push_back({written.type->span.end, sizes});
  }

  const Pipeline& pipeline_;
  std::vector<InlayHint> hints_;
};

}  // namespace

std::vector<InlayHint> inlay_hints(const Analysis& analysis) {
  return analysis.files.empty() ? std::vector<InlayHint>{} : HintFinder(analysis.pipeline).run(analysis.files[0]);
}

}  // namespace rlflow::lsp
