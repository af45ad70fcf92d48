// Binds the arguments of a node to its signature and reports what does not fit.
#include "compiler/bind_node.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/argument_messages.h"
#include "compiler/metric_inputs.h"
#include "compiler/names.h"
#include "compiler/resolve_parts.h"
#include "compiler/settings.h"

namespace rlflow {
namespace {

class NodeBinder {
 public:
  NodeBinder(const ast::NodeStmt& statement, NodeId id, const std::vector<Given>& given, const BindContext& context)
      : statement_(statement),
        id_(id),
        given_(given),
        context_(context),
        pipeline_(context.pipeline),
        node_(context.pipeline.nodes[id.index()]),
        messages_{statement, id, context.pipeline, context.evaluator.scope(), context.sources, context.diagnostics} {}

  void run() {
    node_.signature = choose_signature(context_.catalog, statement_, given_, pipeline_);
    if (node_.signature == nullptr) {
      node_.known = false;
      return messages_.unknown_op(context_.catalog);
    }
    bind_arguments();
    fill_missing();
    bind_settings_block();
    type_outputs(statement_, id_, letters_, pipeline_, context_.sources, context_.diagnostics);
  }

 private:
  const NodeSignature& signature() const { return *node_.signature; }

  void bind_arguments() {
    std::vector<int> targets = match_arguments(signature(), given_);
    node_.inputs.resize(signature().arguments.size());
    for (std::size_t a = 0; a < node_.inputs.size(); ++a) node_.inputs[a].argument = static_cast<std::int32_t>(a);
    filled_.assign(signature().arguments.size(), nullptr);
    check_order(targets);
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const Given& given = given_[i];
      if (targets[i] < 0) {
        node_.known = false;
        messages_.extra_argument(given, signature(), context_.catalog);
        continue;
      }
      auto a = static_cast<std::size_t>(targets[i]);
      const ArgumentSpec& spec = signature().arguments[a];
      if (swapped_.count(i) > 0) {
        node_.inputs[a].from = NodeInput::From::unknown;
        filled_[a] = &given;
        node_.known = false;
        continue;
      }
      if (filled_[a] != nullptr && !spec.variadic) {
        node_.known = false;
        context_.diagnostics
            .error("E0318", given.source->span, "`" + spec.name + "` of `" + node_.op + "` is given twice")
            .at(filled_[a]->source->span, "first here");
        continue;
      }
      NodeInput input = bind(spec, given);
      input.argument = targets[i];
      input.span = given.span;
      if (filled_[a] == nullptr)
        node_.inputs[a] = input;
      else
        node_.inputs.push_back(input);
      filled_[a] = &given;
      if (input.from == NodeInput::From::unknown) node_.known = false;
    }
  }

  // Inputs by position that stand behind a named one, or in each other's places.
  void check_order(const std::vector<int>& targets) {
    auto spec_of = [&](std::size_t i) -> const ArgumentSpec& {
      return signature().arguments[static_cast<std::size_t>(targets[i])];
    };
    const Given* named = nullptr;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (targets[i] < 0) continue;
      if (given_[i].source->name) named = named == nullptr ? &given_[i] : named;
      if (!given_[i].source->name && named != nullptr) messages_.behind_named(given_[i], *named, spec_of(i));
      for (std::size_t j = i + 1; j < given_.size(); ++j) {
        if (targets[j] < 0 || given_[i].source->name || given_[j].source->name || swapped_.count(i) > 0) continue;
        if (fits(spec_of(i), given_[i]) || fits(spec_of(j), given_[j])) continue;
        if (!fits(spec_of(i), given_[j]) || !fits(spec_of(j), given_[i])) continue;
        messages_.swapped(given_[i], given_[j]);
        swapped_.insert({i, j});
      }
    }
  }

  bool fits(const ArgumentSpec& spec, const Given& given) const { return role_takes(spec, given, pipeline_); }

  NodeInput bind(const ArgumentSpec& spec, const Given& given) {
    NodeInput unknown;
    unknown.from = NodeInput::From::unknown;
    if (given.what == Given::What::broken) return unknown;
    if (given.what == Given::What::unknown) {
      messages_.unknown_name(spec, given);
      return unknown;
    }
    NodeInput declared;
    declared.from = NodeInput::From::declaration;
    switch (spec.role) {
      case ArgumentRole::edge: return bind_edge(spec, given);
      case ArgumentRole::constant: return bind_constant(spec, given);
      case ArgumentRole::data:
        if (given.what != Given::What::data) break;
        node_.data = DataId(given.index);
        return declared;
      case ArgumentRole::reward:
        if (given.what != Given::What::reward) break;
        node_.reward = RewardId(given.index);
        return declared;
      case ArgumentRole::replica:
        if (given.what != Given::What::replica) break;
        node_.replica = ReplicaId(given.index);
        node_.model = pipeline_.replicas[node_.replica.index()].model;
        return declared;
      case ArgumentRole::model:
      case ArgumentRole::trainable:
        if (given.what != Given::What::model) break;
        if (!bind_model(spec, given)) return unknown;
        return declared;
    }
    messages_.wrong_role(spec, given);
    return unknown;
  }

  bool bind_model(const ArgumentSpec& spec, const Given& given) {
    ModelId id(given.index);
    if (spec.variadic || node_.model.valid())
      node_.models.push_back(id);
    else
      node_.model = id;
    const Model& model = pipeline_.models[id.index()];
    if (!model.known) return true;
    if (spec.role == ArgumentRole::trainable && !model.trainable) {
      messages_.frozen_model(given, model);
      return false;
    }
    const char* head = model.head == Head::lm ? "lm" : model.head == Head::value ? "value" : "reward";
    if (spec.heads.empty() || std::find(spec.heads.begin(), spec.heads.end(), head) != spec.heads.end()) return true;
    messages_.wrong_head(spec, given, model, head);
    return false;
  }

  NodeInput bind_edge(const ArgumentSpec& spec, const Given& given) {
    NodeInput input;
    if (given.what == Given::What::previous_step) {
      input.from = NodeInput::From::previous_step;
      input.node = given.node;
      input.port = given.port;
      input.init = given.init;
      input.metric = given.metric;
      if (std::find(spec.kinds.begin(), spec.kinds.end(), Kind::scalar) != spec.kinds.end()) return input;
      input.from = NodeInput::From::unknown;
      const NodeOutput& last = pipeline_.node(given.node).outputs[static_cast<std::size_t>(given.port)];
      if (last.known && kind_of(last, given.metric) != Kind::scalar) return input;  // told of `prev` itself
      context_.diagnostics
          .error("E0404", given.span,
                 "`" + spec.name + "` of `" + node_.op + "` needs " + wanted_words(spec) + " of this step")
          .label("`prev` gives a number of the last step");
      return input;
    }
    input.from = NodeInput::From::unknown;
    if (given.what != Given::What::edge) {
      messages_.wrong_role(spec, given);
      return input;
    }
    const FlowNode& maker = pipeline_.node(given.node);
    const NodeOutput& output = maker.outputs[static_cast<std::size_t>(given.port)];
    if (!output.known) return input;
    if (!check_metric(maker, given.port, given.metric, given.span, context_.diagnostics)) return input;
    const Kind kind = kind_of(output, given.metric);
    if (std::find(spec.kinds.begin(), spec.kinds.end(), kind) == spec.kinds.end()) {
      messages_.wrong_kind(spec, given, signature());
      return input;
    }
    if (maker.removed && !node_.removed) {
      input.from = NodeInput::From::absent;
      if (!spec.optional) {
        messages_.removed_input(spec, given);
        node_.known = false;
      }
      return input;
    }
    input.from = NodeInput::From::edge;
    input.node = given.node;
    input.port = given.port;
    input.metric = given.metric;
    unify(spec, given, output);
    return input;
  }

  // Letters of the signature stand for dimensions: the first input binds one, the others must agree.
  void unify(const ArgumentSpec& spec, const Given& given, const NodeOutput& output) {
    const std::vector<DimId> dims = with_tokens(output, spec.dims.size());
    for (std::size_t d = 0; d < dims.size() && d < spec.dims.size(); ++d) {
      auto [bound, fresh] = letters_.emplace(spec.dims[d], dims[d]);
      if (fresh) {
        binders_[spec.dims[d]] = &given;
        continue;
      }
      if (bound->second == dims[d] || !bound->second.valid() || !dims[d].valid()) continue;
      messages_.different_origin(given, dims[d], *binders_[spec.dims[d]], bound->second, spec.dims[d]);
      node_.known = false;
      return;
    }
  }

  // One number a response, where one a token may stand: its tokens are those of the responses themselves.
  std::vector<DimId> with_tokens(const NodeOutput& output, std::size_t wanted) const {
    if (output.dims.size() != 1 || wanted != 2 || !output.dims[0].valid()) return output.dims;
    const NodeId maker = pipeline_.dims[output.dims[0].index()].maker;
    for (const NodeOutput& of_maker : pipeline_.node(maker).outputs) {
      if (of_maker.dims.size() == 2 && of_maker.dims[0] == output.dims[0]) return of_maker.dims;
    }
    return output.dims;
  }

  NodeInput bind_constant(const ArgumentSpec& spec, const Given& given) {
    NodeInput input;
    input.from = NodeInput::From::unknown;
    if (given.what != Given::What::expression) {
      messages_.wrong_role(spec, given);
      return input;
    }
    return store_constant(spec, given.source->value, given.span);
  }

  NodeInput store_constant(const ArgumentSpec& spec, const ast::Expr& expr, Span span) {
    SettingSpec whole;
    whole.name = spec.name;
    whole.type = SettingType::integer;
    whole.lo = spec.lo;
    whole.hi = spec.hi;
    whole.doc = spec.doc;
    std::optional<Value> value = context_.evaluator.setting(whole, &expr, span, "`" + node_.op + "`");
    NodeInput input;
    input.span = span;
    input.from = value ? NodeInput::From::constant : NodeInput::From::unknown;
    if (value) node_.constants[spec.name] = *value;
    return input;
  }

  std::string address() const { return override_address(node_); }

  // Overrides and defaults of constants; letters of inputs that are not there; then what is really missing.
  void fill_missing() {
    for (std::size_t a = 0; a < signature().arguments.size(); ++a) {
      const ArgumentSpec& spec = signature().arguments[a];
      if (spec.role == ArgumentRole::constant) fill_constant(spec, a);
      bool edge = node_.inputs[a].from == NodeInput::From::edge;
      for (const std::string& letter : spec.dims) {
        if (!edge) letters_.emplace(letter, DimId());
      }
    }
    if (!node_.known) return;
    std::vector<const ArgumentSpec*> missing;
    for (std::size_t a = 0; a < signature().arguments.size(); ++a) {
      const ArgumentSpec& spec = signature().arguments[a];
      bool present = filled_[a] != nullptr || node_.inputs[a].from != NodeInput::From::absent;
      if (!present && !spec.optional) missing.push_back(&spec);
    }
    if (missing.empty()) return;
    node_.known = false;
    messages_.missing_arguments(missing, signature());
  }

  void fill_constant(const ArgumentSpec& spec, std::size_t a) {
    const Override* given = context_.overrides.take(address() + "." + spec.name, spec.doc);
    if (given != nullptr) {
      const ast::Expr* expr = context_.overrides.value(*given, context_.sources, context_.diagnostics);
      node_.constants.erase(spec.name);
      node_.inputs[a].from = NodeInput::From::unknown;
      if (expr != nullptr) node_.inputs[a] = store_constant(spec, *expr, given->value_span);
      node_.inputs[a].argument = static_cast<std::int32_t>(a);
      if (node_.inputs[a].from == NodeInput::From::unknown) node_.known = false;
    } else if (filled_[a] == nullptr && spec.fallback) {
      node_.constants[spec.name] = *spec.fallback;
      node_.inputs[a].from = NodeInput::From::constant;
    }
  }

  void bind_settings_block() {
    SettingsOwner owner{"`" + node_.op + "`", address(),       pointers(signature().settings), {},
                        node_.callee_span,    node_.close_span};
    for (const SettingSpec& spec : context_.catalog.common) owner.specs.push_back(&spec);
    for (const ArgumentSpec& spec : signature().arguments) owner.arguments.push_back(spec.name);
    BoundSettings bound = bind_settings(statement_.settings ? &*statement_.settings : nullptr, owner,
                                        context_.evaluator, context_.overrides, context_.sources);
    node_.settings = std::move(bound.values);
    node_.known = node_.known && bound.complete;
  }

  const ast::NodeStmt& statement_;
  NodeId id_;
  const std::vector<Given>& given_;
  const BindContext& context_;
  Pipeline& pipeline_;
  FlowNode& node_;
  ArgumentMessages messages_;
  std::vector<const Given*> filled_;             // by argument of the signature
  std::set<std::size_t> swapped_;                // which of given_, reported
  std::map<std::string, DimId> letters_;         // dimensions of the signature's letters
  std::map<std::string, const Given*> binders_;  // which input bound each
};

}  // namespace

void bind_node(const ast::NodeStmt& statement, NodeId id, const std::vector<Given>& given, const BindContext& context) {
  NodeBinder(statement, id, given, context).run();
}

}  // namespace rlflow
