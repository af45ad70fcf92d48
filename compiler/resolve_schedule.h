// When things happen: periods and lags, `sync`, `stop after`.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ast.h"
#include "compiler/bind_node.h"

namespace rlflow {

enum class Period { every, lag, stop };

// A whole number of steps: at least 1, a lag at least 0. nullopt where it is none, which was reported.
std::optional<std::int64_t> read_period(const ast::Expr& expr, Period what, const BindContext& context);

void resolve_sync(const ast::SyncStmt& statement, Span span, const BindContext& context);
// `stops`: the flow's stop statements; a second one is reported.
void resolve_stop(const std::vector<const ast::Stmt*>& stops, const BindContext& context);

}  // namespace rlflow
