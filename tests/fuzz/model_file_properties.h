// What must hold of any bytes that claim to be a file of a model folder: for the fuzzer, and for the test that mutates
// true files.
#pragma once

#include <string>
#include <string_view>

namespace rlflow::testing {

// A config.json: read or refused by FormatError; what is read lies in its bounds, and what is exported of it reads as
// the same model. Empty if all is well, else the property that is broken.
std::string broken_config_property(std::string_view text);

// A safetensors file: read or refused by FormatError; the tensors that are read tile its data. Every byte is touched.
std::string broken_safetensors_property(std::string_view bytes);

}  // namespace rlflow::testing
