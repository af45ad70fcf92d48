// How a node takes an input as the payload that its signature promises.
#pragma once

#include <string>

#include "nodes/batches.h"
#include "runtime/contract/check.h"
#include "runtime/contract/node.h"

namespace rlflow {

// Input `index` as a T; another type or an absent input is a programmer's mistake.
template <class T>
const T& input_as(const TaskInputs& inputs, std::size_t index) {
  RLFLOW_CHECK(index < inputs.payloads.size() && inputs.payloads[index],
               "input " + std::to_string(index) + " is absent");
  const T* payload = dynamic_cast<const T*>(inputs.payloads[index].get());
  RLFLOW_CHECK(payload,
               "input " + std::to_string(index) + " is " + std::string(kind_name(inputs.payloads[index]->kind())));
  return *payload;
}

}  // namespace rlflow
