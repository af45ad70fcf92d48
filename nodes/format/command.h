// A command line in a program's text: its words, and the program that it names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlflow {

// Words are separated by white space; '…' and "…" hold what has white space in it. Nothing is expanded: no shell reads
// it. Throws FormatError for no word at all and for a quote that is not closed.
std::vector<std::string> command_words(std::string_view command);

// Where the program is: a word with a slash is a path from `folder`, another is looked for in the folders of
// `search_path` (the value of PATH). nullopt: there is no such file, or it cannot be executed.
std::optional<std::filesystem::path> find_program(const std::string& word, const std::filesystem::path& folder,
                                                  std::string_view search_path);

}  // namespace rlflow
