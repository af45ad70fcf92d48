// How does a command line split into words, and where is its program?
#include "nodes/format/command.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "nodes/format/format_error.h"

namespace rlflow {
namespace {

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (char c : command) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      words.back() += c;
  }
  if (quote != 0) throw FormatError(std::string("the quote ") + quote + " is not closed");
  if (words.empty() || words[0].empty()) throw FormatError("the command names no program");
  return words;
}

std::optional<std::filesystem::path> find_program(const std::string& word, const std::filesystem::path& folder,
                                                  std::string_view search_path) {
  if (word.find('/') != std::string::npos) {
    std::filesystem::path path = folder / word;
    return is_executable(path) ? std::optional(path) : std::nullopt;
  }
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    std::filesystem::path path = std::filesystem::path(search_path.substr(0, end)) / word;
    if (path.is_absolute() && is_executable(path)) return path;
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
  }
  return std::nullopt;
}

}  // namespace rlflow
