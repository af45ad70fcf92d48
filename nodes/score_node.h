// The node score with a reward function: one reward a response.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nodes/data/dataset.h"
#include "nodes/format/tokenizer.h"
#include "nodes/reward/reward.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs reward[B]; metrics reward/mean, reward/std and frac_reward_zero_std, of a program also reward/errors and
// reward/timeouts, the tries without a value; a few judged samples. It keeps to `retry` and `timeout` itself, response
// by response. A response without a value after its last try fails the task, naming it: it never becomes a reward of 0.
// With `on_failure = drop_group` the rewards are those of the other prompt groups, a warning tells of each that went,
// the metric reward/dropped counts them and the decision `dropped` names them; the task fails if none is left.
std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId node, const RewardPlace& place);

struct ScoreSettings {
  std::string reward;  // its name
  std::int32_t retry = 0;
  std::int64_t timeout_ms = 0;
  std::int32_t workers = 1;
  bool drop_groups = false;
};
// `rows` may be null: then judges get no fields of the data rows.
std::unique_ptr<Node> make_score_node(ScoreSettings settings, std::unique_ptr<Reward> reward, Tokenizer tokenizer,
                                      std::unique_ptr<Dataset> rows);

}  // namespace rlflow
