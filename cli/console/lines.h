// How does a run look as lines of text? Pure: a view and a terminal's facts in, lines out.
#pragma once

#include <string>
#include <vector>

#include "cli/console/run_view.h"
#include "cli/terminal.h"

namespace rlflow {

// One line of the plain form; empty where an event has nothing to say there.
std::string plain_line(const RunView& view, const RunEvent& event, const Plan& plan);

// The block that is drawn over and over on a terminal; no line is wider than the terminal.
std::vector<std::string> live_lines(const RunView& view, const Terminal& terminal);

// The words with which a person goes on: the program as it was called, and the run as it will be found.
struct NextCommands {
  std::string program;
  std::string run;
};

// What the end says: how far it came, where the run is, what to type next.
std::vector<std::string> closing_lines(const RunView& view, const Plan& plan, const Outcome& outcome,
                                       const NextCommands& next, double seconds);

// The last `width` values as bars of eight heights, scaled to their own range; ASCII without Unicode.
std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode);

// "0:42", "3:07", "1:02:03"
std::string clock_text(double seconds);
// Four significant digits at most: "0.8125", "1.5e-04", "nan".
std::string number_text(double value);

}  // namespace rlflow
