// Types of outputs: kinds from the signature, dimensions by origin, annotations checked against both.
#include <algorithm>
#include <utility>

#include "compiler/bind_node.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

bool per_token(const std::vector<std::string>& dims) { return dims.size() > 1; }

const char* element_of(Kind kind) {
  switch (kind) {
    case Kind::reward:
    case Kind::logp:
    case Kind::value:
    case Kind::adv:
    case Kind::returns: return " f32";
    default: return "";
  }
}

std::string bracketed(const std::vector<std::string>& dims) {
  std::string text;
  for (const std::string& dim : dims) text += (text.empty() ? "[" : ", ") + dim;
  return text.empty() ? "" : text + "]";
}

std::string what_it_counts(Kind kind, const std::vector<std::string>& dims) {
  if (*element_of(kind) == 0) return "";
  return per_token(dims) ? ", one number per token" : ", one number per response";
}

class OutputTyper {
 public:
  OutputTyper(const ast::NodeStmt& statement, NodeId id, const std::map<std::string, DimId>& letters,
              Pipeline& pipeline, const SourceMap& sources, Diagnostics& diagnostics)
      : statement_(statement),
        id_(id),
        letters_(letters),
        pipeline_(pipeline),
        sources_(sources),
        diagnostics_(diagnostics) {}

  void run() {
    FlowNode& node = pipeline_.nodes[id_.index()];
    std::vector<NodeOutput> named = std::move(node.outputs);
    node.outputs.clear();
    std::size_t next = 0;
    for (const OutputSpec& spec : node.signature->outputs) {
      NodeOutput output;
      if (!spec.carried && next < named.size()) {
        output.name = named[next].name;
        output.span = named[next].span;
        output.readers = named[next].readers;
      }
      output.kind = spec.kind;
      output.carried = spec.carried;
      for (const std::string& letter : spec.dims) output.dims.push_back(dim_of(letter));
      if (!spec.carried && next < named.size()) annotate(output, next++);
      node.outputs.push_back(std::move(output));
    }
    if (next < named.size()) report_surplus(node, named, next);
  }

 private:
  DimId dim_of(const std::string& letter) {
    auto bound = letters_.find(letter);
    if (bound != letters_.end()) return bound->second;
    auto [fresh, added] = fresh_.emplace(letter, DimId(pipeline_.dims.size()));
    if (added) pipeline_.dims.push_back({letter, id_, size_of(letter), false});
    return fresh->second;
  }

  // P of a take node is its count; B of a rollout is P x n.
  std::optional<std::int64_t> size_of(const std::string& letter) const {
    const FlowNode& node = pipeline_.nodes[id_.index()];
    auto number = [&node](const char* name) -> std::optional<std::int64_t> {
      auto found = node.constants.find(name);
      const auto* whole = found == node.constants.end() ? nullptr : found->second.get<std::int64_t>();
      return whole ? std::optional(*whole) : std::nullopt;
    };
    if (letter == "P") return number("count");
    auto prompts = letters_.find("P");
    std::optional<std::int64_t> n = number("n");
    std::int64_t product = 0;
    if (letter != "B" || !n || prompts == letters_.end() || !prompts->second.valid()) return std::nullopt;
    std::optional<std::int64_t> rows = pipeline_.dims[prompts->second.index()].size;
    if (!rows || __builtin_mul_overflow(*rows, *n, &product)) return std::nullopt;
    return product;
  }

  void annotate(NodeOutput& output, std::size_t index) {
    const std::optional<ast::Type>& type = statement_.outputs[index].type;
    if (!type) return;
    if (kind_from_name(type->kind.text) != output.kind) return report_kind(output, *type);
    if (type->dims.size() != output.dims.size() && !type->dims.empty()) {
      diagnostics_.error("E0302", type->span, "`" + output.name + "` is " + type_words(pipeline_, output))
          .fix("write `" + to_text(pipeline_.type_of(output)) + "`", Applicability::likely,
               {{type->span, to_text(pipeline_.type_of(output))}});
      return;
    }
    for (std::size_t d = 0; d < type->dims.size(); ++d) name_dim(output.dims[d], type->dims[d]);
  }

  void report_kind(const NodeOutput& output, const ast::Type& type) {
    std::vector<std::string> kinds;
    for (Kind kind : kAllKinds) {
      if (kind != Kind::cursor) kinds.emplace_back(kind_name(kind));
    }
    const std::string& written = type.kind.text;
    if (std::find(kinds.begin(), kinds.end(), written) == kinds.end()) {
      Diagnostic& message = diagnostics_.error("E0302", type.kind.span, "there is no type `" + written + "`");
      suggest(message, written, type.kind.span, kinds, "types");
      if (message.fixes.empty()) message.note("`" + output.name + "` is " + type_words(pipeline_, output));
      return;
    }
    std::string right = to_text(pipeline_.type_of(output));
    diagnostics_
        .error("E0302", type.span,
               "`" + output.name + "` is " + noun_of(output.kind) + ", not " + noun_of(*kind_from_name(written)))
        .at(statement_.call.callee.span, "`" + statement_.call.callee.text + "` makes " + right)
        .fix("write `" + right + "`", Applicability::likely, {{type.span, right}});
  }

  void name_dim(DimId id, const ast::Name& name) {
    if (!id.valid()) return;
    for (std::size_t other = 0; other < pipeline_.dims.size(); ++other) {
      const Dim& dim = pipeline_.dims[other];
      if (other == id.index() || !dim.annotated || dim.name != name.text) continue;
      if (std::exchange(pipeline_.dims[id.index()].disputed, true)) return;
      const FlowNode& first = pipeline_.node(dim.maker);
      const FlowNode& second = pipeline_.node(pipeline_.dims[id.index()].maker);
      diagnostics_.error("E0307", name.span, "`" + name.text + "` names two dimensions")
          .label("this one is made by `" + second.name + "`")
          .at(first.callee_span, "makes a first `" + name.text + "`")
          .at(second.callee_span, "makes another")
          .help("give one of them a name of its own, e.g. `" + name.text + "2`");
      return;
    }
    Dim& dim = pipeline_.dims[id.index()];
    if (dim.annotated && dim.name != name.text) {
      diagnostics_.error("E0307", name.span, "this dimension is called `" + dim.name + "` elsewhere")
          .at(pipeline_.node(dim.maker).callee_span, "made here")
          .fix("write `" + dim.name + "`", Applicability::likely, {{name.span, dim.name}});
      return;
    }
    dim.name = name.text;
    dim.annotated = true;
  }

  void report_surplus(FlowNode& node, const std::vector<NodeOutput>& named, std::size_t next) {
    std::int64_t most = 0;
    for (const OutputSpec& spec : node.signature->outputs) most += spec.carried ? 0 : 1;
    diagnostics_
        .error("E0314", named[next].span,
               "`" + node.op + "` has " + (most == 0 ? "no output" : counted(most, "output")))
        .label("nothing is left for `" + named[next].name + "`");
    for (; next < named.size(); ++next) {
      node.outputs.push_back(named[next]);
      node.outputs.back().known = false;
    }
    node.known = false;
  }

  const ast::NodeStmt& statement_;
  NodeId id_;
  const std::map<std::string, DimId>& letters_;
  Pipeline& pipeline_;
  const SourceMap& sources_;
  Diagnostics& diagnostics_;
  std::map<std::string, DimId> fresh_;
};

}  // namespace

void type_outputs(const ast::NodeStmt& statement, NodeId id, const std::map<std::string, DimId>& letters,
                  Pipeline& pipeline, const SourceMap& sources, Diagnostics& diagnostics) {
  OutputTyper(statement, id, letters, pipeline, sources, diagnostics).run();
}

std::string noun_of(Kind kind) {
  switch (kind) {
    case Kind::prompts: return "prompts";
    case Kind::examples: return "examples";
    case Kind::pairs: return "pairs";
    case Kind::traj: return "trajectories";
    case Kind::reward: return "a reward";
    case Kind::logp: return "log-probabilities";
    case Kind::value: return "values";
    case Kind::adv: return "an advantage";
    case Kind::returns: return "returns";
    case Kind::scalar: return "a number";
    case Kind::metrics: return "metrics";
    case Kind::cursor: return "a cursor";
  }
  return "";
}

std::string type_words(const Pipeline& pipeline, const NodeOutput& output) {
  PortType type = pipeline.type_of(output);
  return std::string(kind_name(type.kind)) + element_of(type.kind) + bracketed(type.dims) +
         what_it_counts(type.kind, type.dims);
}

std::string type_words(const ArgumentSpec& spec) {
  Kind kind = spec.kinds.front();
  std::vector<std::string> dims = spec.dims;
  // Rewards and advantages of responses fit where those of tokens do; the shorter form is what people have.
  bool either = dims.size() > 1 && (kind == Kind::reward || kind == Kind::adv);
  if (either) dims.resize(1);
  return std::string(kind_name(kind)) + element_of(kind) + bracketed(dims) + what_it_counts(kind, dims);
}

std::string wanted_words(const ArgumentSpec& spec) {
  std::string text;
  for (std::size_t i = 0; i < spec.kinds.size(); ++i) text += (i == 0 ? "" : " or ") + noun_of(spec.kinds[i]);
  return text;
}

}  // namespace rlflow
