// The tables that catalog() joins, one function a theme.
#pragma once

#include <vector>

#include "runtime/contract/signature.h"

namespace rlflow::signatures {

std::vector<NodeSignature> reading_nodes();     // take, take_examples, take_pairs
std::vector<NodeSignature> sampling_nodes();    // rollout, filter
std::vector<NodeSignature> scoring_nodes();     // score, combine
std::vector<NodeSignature> model_pass_nodes();  // logprob, value, kl_penalty, adapt_kl
std::vector<NodeSignature> advantage_nodes();   // advantage, one signature a family of estimators
std::vector<NodeSignature> update_nodes();      // update, one signature a kind of batch
std::vector<NodeSignature> schedule_nodes();    // evaluate, checkpoint

std::vector<SourceSignature> data_sources();
std::vector<SourceSignature> reward_sources();

// What rollout and evaluate choose tokens by, all optional: min_new, top_p, top_k, min_p, stop, budget, in this order.
std::vector<SettingSpec> choice_settings();
std::vector<SettingSpec> common_settings();
std::vector<SettingSpec> model_settings();
std::vector<SettingSpec> base_settings();
std::vector<SettingSpec> group_settings();
std::vector<SettingSpec> replica_settings();
std::vector<SettingSpec> sync_settings();

}  // namespace rlflow::signatures
