// How do the words of a picture stay inside their boxes where the reader has another font?
#pragma once

#include <string>

namespace rlflow {

// Graphviz anchors each line of a box's label at its left end, at a place that is right for the font it assumed. This
// anchors them at the middle of their box. `svg` is Graphviz's own output; what is not of that form is left alone.
std::string center_box_texts(const std::string& svg);

}  // namespace rlflow
