// How is a time told to a person?
#pragma once

#include <cstdio>
#include <string>

namespace rlflow {

// "0.4 s", "130 s"
inline std::string seconds_text(double milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, milliseconds < 9950 ? "%.1f s" : "%.0f s", milliseconds / 1000);
  return text;
}

}  // namespace rlflow
