// A node whose inputs are single metrics of another one: `adapt_kl(prev(coef, init=kl), step.kl)`.
#pragma once

#include <memory>

#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// `inner`, given a Scalar wherever the plan names a metric of a Metrics payload. A metric that was not reported fails
// the task; one that is not finite throws NumericsError. Returns `inner` itself where the plan names none.
std::unique_ptr<Node> with_metric_inputs(std::unique_ptr<Node> inner, const Plan& plan, NodeId node);

}  // namespace rlflow
