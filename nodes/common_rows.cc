// Inputs cut down to the prompt groups that all of them have.
#include "nodes/common_rows.h"

#include <optional>
#include <set>
#include <utility>

#include "nodes/node_around.h"

namespace rlflow {
namespace {

using GroupSet = std::set<std::int32_t>;

// Tokens [first, second) of the rows that stay.
struct Cut {
  BatchPtr batch;
  std::vector<std::size_t> rows;
  std::vector<std::pair<std::int64_t, std::int64_t>> tokens;
};

Cut cut_to(const BatchDescriptor& batch, const GroupSet& kept) {
  Cut cut;
  auto smaller = std::make_shared<BatchDescriptor>();
  smaller->temperature = batch.temperature;
  smaller->stop = batch.stop;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!kept.contains(batch.group[i])) continue;
    cut.rows.push_back(i);
    cut.tokens.emplace_back(batch.offsets[i], batch.offsets[i + 1]);
    smaller->group.push_back(batch.group[i]);
    smaller->finish.push_back(batch.finish[i]);
    smaller->offsets.push_back(smaller->offsets.back() + batch.length(i));
    smaller->mask.insert(smaller->mask.end(), batch.mask.begin() + batch.offsets[i],
                         batch.mask.begin() + batch.offsets[i + 1]);
  }
  cut.batch = std::move(smaller);
  return cut;
}

template <class T>
std::vector<T> tokens_of(const std::vector<T>& all, const Cut& cut) {
  std::vector<T> some;
  for (const auto& [begin, end] : cut.tokens) some.insert(some.end(), all.begin() + begin, all.begin() + end);
  return some;
}

const BatchDescriptor* batch_of(const Payload* payload) {
  if (const auto* traj = dynamic_cast<const Rollouts*>(payload)) return traj->batch.get();
  if (const auto* numbers = dynamic_cast<const Numbers*>(payload)) return numbers->batch.get();
  return nullptr;
}

PayloadPtr cut_payload(const Payload& payload, const Cut& cut) {
  if (const auto* traj = dynamic_cast<const Rollouts*>(&payload)) {
    auto some = std::make_shared<Rollouts>(*traj);
    some->batch = cut.batch;
    some->tokens = tokens_of(traj->tokens, cut);
    some->logprob = tokens_of(traj->logprob, cut);
    return some;
  }
  const auto& numbers = dynamic_cast<const Numbers&>(payload);
  std::vector<float> data;
  if (numbers.per_token) {
    data = tokens_of(numbers.data, cut);
  } else {
    for (std::size_t row : cut.rows) data.push_back(numbers.data[row]);
  }
  return std::make_shared<Numbers>(numbers.kind(), cut.batch, numbers.per_token, std::move(data));
}

GroupSet groups_in(const BatchDescriptor& batch) { return {batch.group.begin(), batch.group.end()}; }

// The groups that all inputs have; nullopt if that is all that any of them has.
std::optional<GroupSet> common_groups(const TaskInputs& inputs) {
  std::optional<GroupSet> common;
  const BatchDescriptor* seen = nullptr;
  bool differ = false;
  for (const PayloadPtr& payload : inputs.payloads) {
    const BatchDescriptor* batch = batch_of(payload.get());
    if (batch == nullptr || batch == seen) continue;
    seen = batch;
    GroupSet groups = groups_in(*batch);
    if (!common) {
      common = std::move(groups);
    } else if (groups != *common) {
      differ = true;
      std::erase_if(*common, [&](std::int32_t group) { return !groups.contains(group); });
    }
  }
  return differ ? common : std::nullopt;
}

class WithCommonRows final : public NodeAround {
 public:
  using NodeAround::NodeAround;

 private:
  TaskInputs given(const TaskInputs& inputs) const override { return cut_to_common_rows(inputs); }
};

}  // namespace

BatchPtr without_groups(const BatchDescriptor& batch, const std::vector<std::int32_t>& dropped) {
  GroupSet kept = groups_in(batch);
  for (std::int32_t group : dropped) kept.erase(group);
  return cut_to(batch, kept).batch;
}

TaskInputs cut_to_common_rows(const TaskInputs& inputs) {
  TaskInputs cut = inputs;
  const std::optional<GroupSet> common = common_groups(inputs);
  if (!common) return cut;
  for (PayloadPtr& payload : cut.payloads) {
    const BatchDescriptor* batch = batch_of(payload.get());
    if (batch != nullptr && groups_in(*batch) != *common) payload = cut_payload(*payload, cut_to(*batch, *common));
  }
  return cut;
}

std::unique_ptr<Node> with_common_rows(std::unique_ptr<Node> inner) {
  return std::make_unique<WithCommonRows>(std::move(inner));
}

}  // namespace rlflow
