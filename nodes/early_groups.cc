// Early results by response.
#include "nodes/early_groups.h"

namespace rlflow {

EarlyNumbers early_numbers(const BatchDescriptor& batch, const std::vector<std::shared_ptr<const TaskResult>>& early) {
  EarlyNumbers numbers;
  numbers.values.resize(batch.size());
  for (std::size_t i = 0, in_group = 0; i < batch.size(); ++i) {
    const auto group = static_cast<std::size_t>(batch.group[i]);
    const bool first = i == 0 || batch.group[i] != batch.group[i - 1];
    in_group = first ? 0 : in_group + 1;
    if (group >= early.size() || !early[group]) {
      numbers.missing.push_back(i);
      continue;
    }
    if (first) numbers.groups.push_back(early[group].get());
    numbers.values[i] = dynamic_cast<const Numbers&>(*early[group]->outputs.at(0)).data.at(in_group);
  }
  return numbers;
}

}  // namespace rlflow
