// How the tables are joined into one catalog.
#include "nodes/signatures/catalog.h"

#include <iterator>

#include "nodes/signatures/tables.h"

namespace rlflow {

Catalog catalog() {
  Catalog catalog;
  for (std::vector<NodeSignature> theme :
       {signatures::reading_nodes(), signatures::sampling_nodes(), signatures::scoring_nodes(),
        signatures::model_pass_nodes(), signatures::advantage_nodes(), signatures::update_nodes(),
        signatures::schedule_nodes()}) {
    std::move(theme.begin(), theme.end(), std::back_inserter(catalog.nodes));
  }
  catalog.data = signatures::data_sources();
  catalog.rewards = signatures::reward_sources();
  catalog.common = signatures::common_settings();
  catalog.model_settings = signatures::model_settings();
  catalog.base_settings = signatures::base_settings();
  catalog.group_settings = signatures::group_settings();
  catalog.replica_settings = signatures::replica_settings();
  catalog.sync_settings = signatures::sync_settings();
  return catalog;
}

}  // namespace rlflow
