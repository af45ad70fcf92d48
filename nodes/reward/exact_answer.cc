// How a response is compared with the answer.
#include "nodes/reward/exact_answer.h"

namespace rlflow {

std::string ExactAnswer::answer(const RewardRequest& request) const {
  if (!request.ended) return "";
  std::string_view final_text = request.response;
  if (final_text.starts_with('<')) {
    const std::size_t end = final_text.rfind('>');
    if (end == std::string_view::npos) return "";
    final_text.remove_prefix(end + 1);
  }
  return std::string(final_text);
}

RewardVerdict ExactAnswer::verdict(const RewardRequest& request) const {
  if (request.answer.empty()) return no_verdict("the data gives no answer to compare with");
  return verdict_of(request.ended && answer(request) == request.answer ? 1.0 : 0.0);
}

}  // namespace rlflow
