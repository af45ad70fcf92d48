// The list of node kinds that have code.
#include "nodes/catalog.h"

#include "nodes/advantage_node.h"
#include "nodes/combine_node.h"
#include "nodes/evaluate_node.h"
#include "nodes/filter_node.h"
#include "nodes/kl_reward_node.h"
#include "nodes/rollout_node.h"
#include "nodes/score_node.h"
#include "nodes/take_node.h"
#include "nodes/token_advantage_node.h"
#include "nodes/token_reading_node.h"
#include "nodes/update_critic_node.h"
#include "nodes/update_pairs_node.h"
#include "nodes/update_policy_node.h"
#include "nodes/update_sft_node.h"

namespace rlflow {

std::span<const NodeKind> node_kinds() {
  static const NodeKind kKinds[] = {
      {"take", make_take_node},
      {"take_examples", make_take_examples_node},
      {"take_pairs", make_take_pairs_node},
      {"rollout", make_rollout_node},
      {"score/function", JudgingNodeFactory(make_score_node)},
      {"filter", make_filter_node, true},
      {"refill", make_refill_node, true},
      {"combine", make_combine_node},
      {"logprob", make_logprob_node},
      {"logprob/pairs", make_logprob_node},
      {"value", make_value_node},
      {"kl_penalty", make_kl_penalty_node},
      {"adapt_kl", make_adapt_kl_node},
      {"advantage/responses", make_advantage_node},
      {"advantage/tokens", make_token_advantage_node},
      {"advantage/values", make_value_advantage_node},
      {"advantage/baseline", make_baseline_advantage_node},
      {"advantage/several", make_several_rewards_node},
      {"update/policy", make_update_policy_node},
      {"update/critic", make_update_critic_node},
      {"update/sft", make_update_sft_node},
      {"update/pairs", make_update_pairs_node},
      {"evaluate/function", make_evaluate_node},
  };
  return kKinds;
}

}  // namespace rlflow
