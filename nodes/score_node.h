// The node score with a reward function: one reward a response.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nodes/format/tokenizer.h"
#include "nodes/reward/reward.h"
#include "runtime/contract/node.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Outputs reward[B]; metrics reward/mean, reward/std and frac_reward_zero_std; a few judged samples. A judge that gives
// no value after `retry` more tries of that response fails the task, naming it: it never becomes a reward of 0.
std::unique_ptr<Node> make_score_node(const Plan& plan, NodeId node);
std::unique_ptr<Node> make_score_node(std::string reward_name, std::unique_ptr<Reward> reward, Tokenizer tokenizer,
                                      std::int32_t retry);

}  // namespace rlflow
