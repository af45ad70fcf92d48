// Text of a port type.
#include "runtime/contract/port_type.h"

namespace rlflow {

std::string to_text(const PortType& type) {
  std::string text(kind_name(type.kind));
  if (type.dims.empty()) return text;
  text += '[';
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += type.dims[i];
  }
  return text + ']';
}

}  // namespace rlflow
