// Reads overrides and reports those that change nothing.
#include "compiler/overrides.h"

#include <algorithm>

#include "compiler/names.h"
#include "compiler/parse.h"

namespace rlflow {
namespace {

bool is_address(std::string_view text) {
  bool start = true;
  for (char c : text) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool digit = c >= '0' && c <= '9';
    if (!letter && (start || (!digit && c != '.'))) return false;
    start = c == '.';
  }
  return !start;
}

std::string last_part(const std::string& address) { return address.substr(address.rfind('.') + 1); }

}  // namespace

void Overrides::read(const std::vector<std::string>& texts, SourceMap& sources, Diagnostics& diagnostics) {
  if (texts.empty()) return;
  std::string joined;
  for (const std::string& text : texts) joined += text + "\n";
  FileId file = sources.add(kCommandLinePath, joined);
  std::uint32_t begin = 0;
  for (const std::string& text : texts) {
    auto end = static_cast<std::uint32_t>(begin + text.size());
    std::size_t equal = text.find('=');
    Span span{file, begin, end};
    if (first_invalid_utf8(text) != std::string_view::npos) {
      diagnostics.error("E0107", {file, begin, begin}, "this override is not UTF-8 text");
    } else if (equal == std::string::npos || !is_address(text.substr(0, equal))) {
      diagnostics.error("E0216", span, "an override has the form `address=value`")
          .help("e.g. `-s steps=500`, `-s traj.temperature=0.8`, `-s 'gpus=gpu[0..4]'`");
    } else {
      auto middle = static_cast<std::uint32_t>(begin + equal);
      Override read{text.substr(0, equal),
                    span,
                    {file, begin, middle},
                    {file, middle + 1, end},
                    text.substr(equal + 1),
                    {},
                    false};
      auto [known, fresh] = by_address_.emplace(read.address, read);
      if (!fresh) {
        diagnostics.error("E0216", span, "`" + read.address + "` is given twice").at(known->second.span, "first here");
      }
    }
    begin = end + 1;
  }
}

const Override* Overrides::take(const std::string& address, const std::string& what) {
  offered_.emplace(address, what);
  auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  found->second.used = true;
  return &found->second;
}

const ast::Expr* Overrides::value(const Override& of, const SourceMap& sources, Diagnostics& diagnostics) {
  Override& entry = by_address_.at(of.address);
  if (!entry.expr) entry.expr = parse_value(entry.value_span, sources, diagnostics);
  return entry.expr ? &*entry.expr : nullptr;
}

void Overrides::report_unused(Diagnostics& diagnostics) const {
  for (const auto& [address, entry] : by_address_) {
    if (entry.used) continue;
    bool dotted = address.find('.') != std::string::npos;
    Diagnostic& message =
        diagnostics.error("E0203", entry.address_span,
                          dotted ? "no setting has the address `" + address + "`" : "no parameter `" + address + "`");
    std::vector<std::string> whole;
    for (const auto& [known, what] : offered_) whole.push_back(known);
    std::vector<std::string> close = close_names(address, whole);
    for (const std::string& known : whole) {
      if (dotted || close.size() >= 3 || std::find(close.begin(), close.end(), known) != close.end()) continue;
      if (last_part(known) == address || !close_names(address, {last_part(known)}).empty()) close.push_back(known);
    }
    if (close.size() == 1) {
      message.help("did you mean `" + close[0] + "` (" + offered_.at(close[0]) + ")?");
    } else if (!close.empty()) {
      message.help("did you mean " + quoted_list(close) + "?");
    } else {
      message.help("`rlflow params FILE` lists every address");
    }
  }
}

}  // namespace rlflow
