// Terminal facts from the system, and safe text.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rlflow {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

Terminal terminal_of(int descriptor, const Session& session) {
  Terminal terminal;
  std::string term = environment("TERM");
  terminal.is_terminal = isatty(descriptor) == 1 && term != "dumb" && !term.empty();
  switch (session.color) {
    case Color::always: terminal.colour = true; break;
    case Color::never: terminal.colour = false; break;
    case Color::automatic: terminal.colour = terminal.is_terminal && environment("NO_COLOR").empty(); break;
  }
  terminal.unicode = locale_is_utf8();
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

std::string printable(std::string_view text) {
  std::string safe;
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      safe += "\\n";
    } else if (c == '\t') {
      safe += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      safe += code;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string clipped(std::string_view text, std::size_t width, bool unicode) {
  std::size_t points = 0;
  for (char c : text) points += is_continuation(c) ? 0 : 1;
  if (points <= width) return std::string(text);
  std::string ellipsis = unicode ? "…" : "...";
  std::size_t room = unicode ? 1 : 3;
  std::size_t keep = width > room ? width - room : 0;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (!is_continuation(text[bytes]) && seen++ == keep) break;
  }
  return std::string(text.substr(0, bytes)) + ellipsis;
}

}  // namespace rlflow
