// Resolves the flow: names of all outputs first, then node by node in the order written.
#include <algorithm>
#include <set>

#include "compiler/bind_node.h"
#include "compiler/flow_order.h"
#include "compiler/metric_inputs.h"
#include "compiler/names.h"
#include "compiler/resolve.h"
#include "compiler/resolve_parts.h"
#include "compiler/resolve_schedule.h"

namespace rlflow {
namespace {

class FlowResolver {
 public:
  FlowResolver(const Catalog& catalog, const SourceMap& sources, Overrides& overrides, Pipeline& pipeline, Scope& scope,
               Diagnostics& diagnostics)
      : sources_(sources),
        pipeline_(pipeline),
        scope_(scope),
        diagnostics_(diagnostics),
        evaluator_(scope, pipeline.params, diagnostics),
        context_{catalog, sources, overrides, pipeline, evaluator_, diagnostics} {}

  void run(const ast::FlowDecl& flow) {
    pipeline_.flow = flow.name.text;
    pipeline_.flow_span = flow.name.span;
    collect(flow.body, BlockId());
    make_names_unique();
    for (std::size_t n = 0; n < statements_.size(); ++n) resolve_node(NodeId(n));
    check_previous();
    for (const ast::Stmt& statement : flow.body) {
      if (const auto* sync = std::get_if<ast::SyncStmt>(&statement.data)) resolve_sync(*sync, statement.span, context_);
    }
    resolve_stop(stops_, context_);
  }

 private:
  // ---- names

  void collect(const std::vector<ast::Stmt>& body, BlockId block) {
    for (const ast::Stmt& statement : body) {
      if (const auto* node = std::get_if<ast::NodeStmt>(&statement.data)) {
        collect_node(*node, statement.span, block);
      } else if (const auto* every = std::get_if<ast::EveryStmt>(&statement.data)) {
        if (block.valid())
          report_inside_every(every->head, "`every`");
        else
          collect_block(*every);
      } else if (const auto* broken = std::get_if<ast::BrokenStmt>(&statement.data)) {
        for (const ast::Name& name : broken->defines) {
          define_symbol(scope_, name, {SymbolKind::broken, -1, 0, name.span}, diagnostics_);
        }
      } else if (block.valid()) {
        bool sync = std::holds_alternative<ast::SyncStmt>(statement.data);
        report_inside_every(statement.span, sync ? "`sync`" : "`stop`");
      } else if (std::holds_alternative<ast::StopStmt>(statement.data)) {
        stops_.push_back(&statement);
      }
    }
  }

  void collect_block(const ast::EveryStmt& every) {
    BlockId block(pipeline_.blocks.size());
    pipeline_.blocks.push_back(
        {read_period(every.every, Period::every, context_).value_or(1), every.at_start, every.head});
    collect(every.body, block);
  }

  void collect_node(const ast::NodeStmt& statement, Span span, BlockId block) {
    FlowNode node;
    node.op = statement.call.callee.text;
    node.name = statement.outputs.empty() ? "" : statement.outputs[0].name.text;
    node.block = block;
    node.span = span;
    node.op_span = statement.call.span;
    node.callee_span = statement.call.callee.span;
    node.close_span = statement.call.close;
    if (statement.settings) node.settings_span = statement.settings->span;
    std::int32_t port = 0;
    for (const ast::Output& output : statement.outputs) {
      Symbol symbol{SymbolKind::output, static_cast<std::int32_t>(statements_.size()), port++, output.name.span};
      define_symbol(scope_, output.name, symbol, diagnostics_);
      NodeOutput named;
      named.name = output.name.text;
      named.span = output.name.span;
      named.known = false;  // until it is typed
      node.outputs.push_back(std::move(named));
    }
    pipeline_.nodes.push_back(std::move(node));
    statements_.push_back(&statement);
  }

  // A node without outputs is called by what it does to what: "checkpoint(policy)".
  void make_names_unique() {
    std::set<std::string> taken;
    for (const FlowNode& node : pipeline_.nodes) taken.insert(node.name);
    for (std::size_t n = 0; n < statements_.size(); ++n) {
      FlowNode& node = pipeline_.nodes[n];
      if (!node.name.empty()) continue;
      std::string base = node.op + "(";
      for (const ast::Argument& argument : statements_[n]->call.arguments) {
        const auto* name = std::get_if<ast::Reference>(&argument.value.data);
        if (name != nullptr && !argument.name) base += (base.back() == '(' ? "" : ", ") + name->name.text;
      }
      base += ")";
      node.name = base;
      for (int again = 2; !taken.insert(node.name).second; ++again) node.name = base + "." + std::to_string(again);
    }
  }

  void report_inside_every(Span span, const std::string& what) {
    diagnostics_.error("E0407", span, what + " cannot stand inside `every`").help("move it into the flow itself");
  }

  // ---- nodes

  void resolve_node(NodeId id) {
    const ast::NodeStmt& statement = *statements_[id.index()];
    FlowNode& node = pipeline_.nodes[id.index()];
    if (statement.when) resolve_when(*statement.when, node);
    if (statement.on) {
      const Symbol* group = expect_symbol(scope_, *statement.on, SymbolKind::group, diagnostics_);
      if (group != nullptr) {
        node.on = GroupId(group->index);
        pipeline_.groups[node.on.index()].used = true;
      }
      node.known = node.known && group != nullptr;
    }
    std::vector<Given> given;
    for (const ast::Argument& argument : statement.call.arguments) given.push_back(look_up(argument, id));
    bind_node(statement, id, given, context_);
  }

  void resolve_when(const ast::Expr& when, FlowNode& node) {
    node.when_span = when.span;
    std::optional<Value> value = evaluator_.evaluate(when);
    const bool* truth = value ? value->get<bool>() : nullptr;
    if (truth != nullptr) node.removed = !*truth;
    if (truth == nullptr) node.known = false;  // whether it is there cannot be said
    if (value && truth == nullptr) {
      diagnostics_.error("E0215", when.span, "`when` needs true or false").label("this is " + to_text(*value));
    }
  }

  Given look_up(const ast::Argument& argument, NodeId id) {
    Given given;
    given.source = &argument;
    given.span = argument.value.span;
    if (const auto* call = std::get_if<ast::Call>(&argument.value.data);
        call != nullptr && call->callee.text == "prev") {
      look_up_previous(*call, given);
      return given;
    }
    const auto* reference = std::get_if<ast::Reference>(&argument.value.data);
    given.what = Given::What::expression;
    if (reference == nullptr || reference->index) return given;
    const Symbol* symbol = scope_.find(reference->name.text);
    if (auto metric = metric_reference(scope_, reference->name.text); symbol == nullptr && metric) {
      given.metric = metric->metric;
      symbol = metric->output;
    }
    if (symbol == nullptr) {
      given.what = Given::What::unknown;
      return given;
    }
    look_up_symbol(*symbol, id, given);
    return given;
  }

  void look_up_symbol(const Symbol& symbol, NodeId id, Given& given) {
    given.index = symbol.index;
    auto at = static_cast<std::size_t>(std::max(symbol.index, 0));
    auto declared = [&given](Given::What what, bool& used) {
      given.what = what;
      used = true;
    };
    switch (symbol.kind) {
      case SymbolKind::param: return;  // an expression of one name
      case SymbolKind::group:
      case SymbolKind::import:
        diagnostics_
            .error("E0206", given.span,
                   "`" + std::string(sources_.text(given.span)) + "` is " + noun_of(symbol.kind) + ", not an input")
            .at(symbol.span, "defined here");
        given.what = Given::What::broken;
        return;
      case SymbolKind::broken: given.what = Given::What::broken; return;
      case SymbolKind::model: return declared(Given::What::model, pipeline_.models[at].used);
      case SymbolKind::replica: return declared(Given::What::replica, pipeline_.replicas[at].used);
      case SymbolKind::data: return declared(Given::What::data, pipeline_.data[at].used);
      case SymbolKind::reward: return declared(Given::What::reward, pipeline_.rewards[at].used);
      case SymbolKind::output: return look_up_output(symbol, id, given);
    }
  }

  void look_up_output(const Symbol& symbol, NodeId id, Given& given) {
    given.node = NodeId(symbol.index);
    given.port = symbol.port;
    if (given.node >= id) {
      given.what = Given::What::broken;
      return report_order({statements_, pipeline_, scope_, sources_, context_.catalog}, id, given.node, given.span,
                          symbol.span, diagnostics_);
    }
    given.what = Given::What::edge;
    ++pipeline_.nodes[given.node.index()].outputs[static_cast<std::size_t>(given.port)].readers;
  }

  // prev(x, init=0.1)
  void look_up_previous(const ast::Call& call, Given& given) {
    const ast::Expr* init = nullptr;
    const ast::Reference* name = nullptr;
    for (const ast::Argument& argument : call.arguments) {
      bool is_init = argument.name && argument.name->text == "init";
      if (is_init)
        init = &argument.value;
      else if (!argument.name && name == nullptr)
        name = std::get_if<ast::Reference>(&argument.value.data);
    }
    if (call.arguments.size() != 2 || init == nullptr || name == nullptr || name->index) {
      diagnostics_.error("E0404", call.span, "`prev` needs the name of an output and `init`")
          .note("at the first step there is no last one, and `init` stands for it")
          .help("write `prev(x, init=0.0)`");
      return;
    }
    auto metric = metric_reference(scope_, name->name.text);
    const Symbol* symbol =
        metric ? metric->output : expect_symbol(scope_, name->name, SymbolKind::output, diagnostics_);
    std::optional<Value> value = evaluator_.evaluate(*init);
    if (symbol == nullptr || !value) return;
    const double* real = value->get<double>();
    const auto* whole = value->get<std::int64_t>();
    if (real == nullptr && whole == nullptr) {
      diagnostics_.error("E0404", init->span, "`init` of `prev` is a number").label("this is " + to_text(*value));
      return;
    }
    given.what = Given::What::previous_step;
    given.node = NodeId(symbol->index);
    given.port = symbol->port;
    given.init = real ? *real : static_cast<double>(*whole);
    if (metric) given.metric = metric->metric;
    ++pipeline_.nodes[given.node.index()].outputs[static_cast<std::size_t>(given.port)].readers;
    previous_.push_back({given.node, given.port, given.metric, name->name.span});
  }

  // prev may name a later node, so what it names is checked when all are typed.
  void check_previous() {
    for (const auto& [id, port, metric, span] : previous_) {
      const FlowNode& node = pipeline_.node(id);
      const NodeOutput& output = node.outputs[static_cast<std::size_t>(port)];
      if (!check_metric(node, port, metric, span, diagnostics_)) continue;
      if (!output.known || kind_of(output, metric) == Kind::scalar) continue;
      Diagnostic& message = diagnostics_.error(
          "E0404", span,
          "`prev` carries numbers from step to step, but `" + output.name + "` is " + noun_of(output.kind));
      message.label(type_words(pipeline_, output)).at(node.callee_span, "made here");
      if (output.kind == Kind::metrics) message.help("name one of its numbers: " + metric_examples(node, output));
    }
  }

  const SourceMap& sources_;
  Pipeline& pipeline_;
  Scope& scope_;
  Diagnostics& diagnostics_;
  Evaluator evaluator_;
  BindContext context_;
  std::vector<const ast::NodeStmt*> statements_;  // by node
  std::vector<const ast::Stmt*> stops_;
  struct PreviousRead {
    NodeId node;
    std::int32_t port;
    std::string metric;
    Span span;
  };
  std::vector<PreviousRead> previous_;
};

}  // namespace

void resolve_flow(const ast::File& program, const Catalog& catalog, const SourceMap& sources, Overrides& overrides,
                  Pipeline& pipeline, Scope& scope, Diagnostics& diagnostics) {
  for (const ast::Decl& declaration : program.decls) {
    const auto* flow = std::get_if<ast::FlowDecl>(&declaration.data);
    if (flow == nullptr) continue;
    return FlowResolver(catalog, sources, overrides, pipeline, scope, diagnostics).run(*flow);
  }
}

}  // namespace rlflow
