// Resolves sync and stop statements, and the periods of `every`.
#include "compiler/resolve_schedule.h"

#include <string>

#include "compiler/resolve_parts.h"
#include "compiler/settings.h"

namespace rlflow {
namespace {

const char* word_of(Period what) {
  switch (what) {
    case Period::every: return "every";
    case Period::lag: return "lag";
    case Period::stop: return "stop after";
  }
  return "";
}

// One sync a replica, from its own model.
bool is_valid_sync(const Sync& sync, const ast::Name& model, const BindContext& context) {
  const Pipeline& pipeline = context.pipeline;
  const Replica& replica = pipeline.replicas[sync.replica.index()];
  if (const Sync* first = pipeline.sync_of(sync.replica)) {
    context.diagnostics.error("E0412", sync.span, "`" + replica.name + "` has a second `sync`")
        .at(first->span, "the first");
    return false;
  }
  if (!sync.model.valid() || !replica.model.valid() || sync.model == replica.model) return true;
  const std::string& right = pipeline.models[replica.model.index()].name;
  context.diagnostics
      .error("E0405", model.span, "`" + replica.name + "` is a replica of `" + right + "`, not of `" + model.text + "`")
      .at(replica.name_span, "declared here")
      .fix("write `sync " + right + " -> " + replica.name + "`", Applicability::likely, {{model.span, right}});
  return true;
}

// `sync sampler -> policy`: both stand in the other's place.
bool is_backwards(const ast::SyncStmt& statement, const BindContext& context) {
  const Scope& scope = context.evaluator.scope();
  const Symbol* model = scope.find(statement.model.text);
  const Symbol* replica = scope.find(statement.replica.text);
  if (model == nullptr || replica == nullptr) return false;
  if (model->kind != SymbolKind::replica || replica->kind != SymbolKind::model) return false;
  const std::string right = statement.replica.text + " -> " + statement.model.text;
  context.diagnostics.error("E0206", statement.model.span, "`sync` goes from the model to its replica")
      .label("a replica")
      .at(statement.replica.span, "a model")
      .fix("write `sync " + right + "`", Applicability::likely,
           {{statement.model.span, statement.replica.text}, {statement.replica.span, statement.model.text}});
  return true;
}

}  // namespace

std::optional<std::int64_t> read_period(const ast::Expr& expr, Period what, const BindContext& context) {
  std::optional<Value> value = context.evaluator.evaluate(expr);
  if (!value) return std::nullopt;
  const auto* whole = value->get<std::int64_t>();
  const Quantity* steps = value->get<Quantity>();
  std::int64_t least = what == Period::lag ? 0 : 1;
  std::int64_t number = whole ? *whole : steps && steps->unit == Unit::steps ? steps->count : -1;
  if (number >= least) return number;
  context.diagnostics
      .error("E0408", expr.span,
             std::string("`") + word_of(what) + "` needs a whole number of steps, at least " + std::to_string(least))
      .label("this is " + to_text(*value));
  return std::nullopt;
}

void resolve_sync(const ast::SyncStmt& statement, Span span, const BindContext& context) {
  const Scope& scope = context.evaluator.scope();
  Sync sync;
  sync.span = span;
  sync.lag_span = statement.lag_span;
  sync.lag_at_most = statement.lag_at_most;
  sync.every = read_period(statement.every, Period::every, context).value_or(1);
  sync.lag = read_period(statement.lag, Period::lag, context).value_or(0);
  if (is_backwards(statement, context)) {
    context.pipeline.has_broken_sync = true;
    return;
  }
  const Symbol* model = expect_symbol(scope, statement.model, SymbolKind::model, context.diagnostics);
  const Symbol* replica = expect_symbol(scope, statement.replica, SymbolKind::replica, context.diagnostics);
  SettingsOwner owner{"`sync`", "sync." + statement.replica.text, pointers(context.catalog.sync_settings), {}, span,
                      {}};
  sync.settings = bind_settings(statement.settings ? &*statement.settings : nullptr, owner, context.evaluator,
                                context.overrides, context.sources)
                      .values;
  if (replica == nullptr) {
    context.pipeline.has_broken_sync = true;
    return;
  }
  sync.replica = ReplicaId(replica->index);
  context.pipeline.replicas[sync.replica.index()].used = true;
  if (model != nullptr) {
    sync.model = ModelId(model->index);
    context.pipeline.models[sync.model.index()].used = true;
  }
  if (is_valid_sync(sync, statement.model, context)) context.pipeline.syncs.push_back(std::move(sync));
}

void resolve_stop(const std::vector<const ast::Stmt*>& stops, const BindContext& context) {
  Pipeline& pipeline = context.pipeline;
  for (std::size_t i = 1; i < stops.size(); ++i) {
    context.diagnostics.error("E0409", stops[i]->span, "a flow has one `stop`, and this is its second")
        .at(stops[0]->span, "the first");
  }
  if (!stops.empty()) {
    pipeline.stop_span = stops[0]->span;
    pipeline.stop_value_span = std::get<ast::StopStmt>(stops[0]->data).after.span;
    // Also read where it is overridden: its parameters are used.
    pipeline.stop_after = read_period(std::get<ast::StopStmt>(stops[0]->data).after, Period::stop, context);
  }
  const Override* given = context.overrides.take("stop", "the last step");
  if (given == nullptr) return;
  pipeline.stop_after.reset();
  pipeline.stop_value_span = given->value_span;
  const ast::Expr* changed = context.overrides.value(*given, context.sources, context.diagnostics);
  if (changed != nullptr) pipeline.stop_after = read_period(*changed, Period::stop, context);
}

}  // namespace rlflow
