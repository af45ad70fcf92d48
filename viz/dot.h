// How is a diagram written in Graphviz's language, laid out so that a person can read it?
#pragma once

#include <string>

#include "viz/diagram.h"
#include "viz/palette.h"

namespace rlflow {

// Equal diagrams give equal bytes.
std::string to_dot(const Diagram& diagram, const Palette& palette = kLightPalette);

}  // namespace rlflow
