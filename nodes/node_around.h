// A node that stands before another one and changes what it is given.
#pragma once

#include <memory>
#include <utility>

#include "runtime/contract/node.h"

namespace rlflow {

// Says of itself what the inner node says. Whoever adds a question to Node answers it here too, for all that stand
// before another.
class NodeAround : public Node {
 public:
  explicit NodeAround(std::unique_ptr<Node> inner) : inner_(std::move(inner)) {}
  TaskResult run(const TaskInputs& inputs, const TaskContext& context) final {
    return inner_->run(given(inputs), context);
  }
  bool retries_by_sample() const final { return inner_->retries_by_sample(); }
  bool emits_groups() const final { return inner_->emits_groups(); }
  bool works_by_group() const final { return inner_->works_by_group(); }

 protected:
  // What the inner node gets for these inputs.
  virtual TaskInputs given(const TaskInputs& inputs) const = 0;

 private:
  std::unique_ptr<Node> inner_;
};

}  // namespace rlflow
