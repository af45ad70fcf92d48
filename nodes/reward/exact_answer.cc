// How a response is compared with the answer.
#include "nodes/reward/exact_answer.h"

namespace rlflow {

RewardVerdict ExactAnswer::verdict(const RewardRequest& request) const {
  if (request.answer.empty()) return no_verdict("the data gives no answer to compare with");
  if (!request.ended) return verdict_of(0);
  std::string_view final_text = request.response;
  if (final_text.starts_with('<')) {
    const std::size_t end = final_text.rfind('>');
    if (end == std::string_view::npos) return verdict_of(0);
    final_text.remove_prefix(end + 1);
  }
  return verdict_of(final_text == request.answer ? 1.0 : 0.0);
}

}  // namespace rlflow
