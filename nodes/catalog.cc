#include "nodes/catalog.h"

#include "nodes/advantage_node.h"
#include "nodes/score_node.h"
#include "nodes/take_node.h"

namespace rlflow {

std::span<const NodeKind> node_kinds() {
  static constexpr NodeKind kKinds[] = {
      {"take", make_take_node},
      {"take_examples", make_take_examples_node},
      {"score/function", make_score_node},
      {"advantage/responses", make_advantage_node},
  };
  return kKinds;
}

}  // namespace rlflow
