// How does DOT text become a picture? Through libgvc with a fixed set of plugins, so that equal text gives
// equal SVG on every machine.
#pragma once

#include <string>

namespace rlflow {

enum class PictureFormat { svg, png };

struct Picture {
  std::string bytes;  // empty on failure
  std::string error;  // one line for a person; empty on success
};

// Not thread-safe: Graphviz keeps state of its own. PNG needs the cairo (or gd) plugin of Graphviz.
Picture render(const std::string& dot, PictureFormat format);

}  // namespace rlflow
