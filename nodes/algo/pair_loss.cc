// What a pair costs.
#include "nodes/algo/pair_loss.h"

#include <ATen/ATen.h>

namespace rlflow::algo {

PairLoss dpo_loss(const at::Tensor& chosen, const at::Tensor& rejected, const at::Tensor& chosen_reference,
                  const at::Tensor& rejected_reference, double beta) {
  const at::Tensor margin = beta * ((chosen - chosen_reference) - (rejected - rejected_reference));
  return {-at::log_sigmoid(margin), margin};
}

}  // namespace rlflow::algo
