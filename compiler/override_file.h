// What does a file of overrides change? TOML: nested tables mean dotted addresses.
#pragma once

#include <string>
#include <vector>

#include "compiler/overrides.h"
#include "compiler/source.h"

namespace rlflow {

// Adds the file to `sources`; what cannot be read is reported at its line and left out.
std::vector<Override> read_override_file(const std::string& path, std::string text, SourceMap& sources,
                                         Diagnostics& diagnostics);

}  // namespace rlflow
