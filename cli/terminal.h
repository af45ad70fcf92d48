// What can the terminal do? Colour, width, cursor movement; and text made safe to print.
#pragma once

#include <string>
#include <string_view>

#include "cli/verb.h"

namespace rlflow {

struct Terminal {
  bool is_terminal = false;  // a person looks; lines may be redrawn
  bool colour = false;
  bool unicode = false;  // the locale says UTF-8
  int width = 80;        // columns
};

// Looks at the descriptor, NO_COLOR, TERM and the locale now; call again after a resize.
Terminal terminal_of(int descriptor, const Session& session);

// Control characters (escape sequences of a model's text among them) become visible: \n, \x1b.
std::string printable(std::string_view text);

// At most `width` code points, the last one an ellipsis where something was cut ("..." without Unicode).
std::string clipped(std::string_view text, std::size_t width, bool unicode);

}  // namespace rlflow
