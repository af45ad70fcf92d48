// How do the verbs read and replace the user's own text files?
#pragma once

#include <string>

namespace rlflow {

// What messages call a program that came through a pipe.
inline constexpr const char* kStandardInputPath = "<standard input>";

// Throws std::runtime_error naming path and cause.
std::string read_text_file(const std::string& path);

// At most one byte more than a program may have, which is enough for the compiler to refuse it.
std::string read_standard_input();

// The new text is there completely or not at all: written beside the file, synced, renamed over it. Mode and
// symbolic links stay. Throws std::runtime_error naming path and cause.
void replace_text_file(const std::string& path, const std::string& text);

}  // namespace rlflow
