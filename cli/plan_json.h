// The object of `plan --json`, rlflow.plan/1.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/planning/plan_text.h"

namespace rlflow {

nlohmann::json plan_json(const Plan& plan);
// "machine", "batches", "edges", "memory", "estimate": bytes and seconds are numbers, null where unknown.
void add_figures(const Plan& plan, const Machine& machine, const PlanFigures& figures, nlohmann::json& object);
std::string when_text(const Plan& plan, const PlanNode& node);  // "each step", "every 10 steps"

}  // namespace rlflow
