// Reads overrides and reports those that change nothing.
#include "compiler/overrides.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/names.h"
#include "compiler/parse.h"

namespace rlflow {
namespace {

std::string last_part(const std::string& address) { return address.substr(address.rfind('.') + 1); }

std::string first_part(const std::string& address) { return address.substr(0, address.find('.')); }

}  // namespace

bool is_override_address(std::string_view text) {
  bool start = true;
  for (char c : text) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool digit = c >= '0' && c <= '9';
    if (!letter && (start || (!digit && c != '.'))) return false;
    start = c == '.';
  }
  return !start;
}

void Overrides::add(std::vector<Override> list) {
  for (Override& entry : list) by_address_.insert_or_assign(entry.address, std::move(entry));
}

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
    } else if (equal == std::string::npos || !is_override_address(text.substr(0, equal))) {
      diagnostics.error("E0216", span, "an override has the form `address=value`")
          .help("e.g. `-s steps=500`, `-s traj.temperature=0.8`, `-s 'gpus=gpu[0..4]'`");
    } else {
      auto middle = static_cast<std::uint32_t>(begin + equal);
      Override read;
      read.address = text.substr(0, equal);
      read.span = span;
      read.address_span = {file, begin, middle};
      read.value_span = {file, middle + 1, end};
      read.text = text.substr(equal + 1);
      auto known = by_address_.find(read.address);
      if (known == by_address_.end() || known->second.origin == Origin::overrides_file) {
        by_address_.insert_or_assign(read.address, std::move(read));
      } else {
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
  if (entry.is_escaped) {
    diagnostics.error("E0218", entry.value_span, "this value must be written without escapes, on one line");
    return nullptr;
  }
  if (!entry.expr) entry.expr = parse_value(entry.value_span, sources, diagnostics);
  return entry.expr ? &*entry.expr : nullptr;
}

std::vector<std::string> Overrides::texts() const {
  std::vector<std::string> list;
  for (const auto& [address, entry] : by_address_) list.push_back(address + "=" + entry.text);
  return list;
}

void Overrides::report_unused(Diagnostics& diagnostics) const {
  std::set<std::string> owners;  // of addresses
  for (const auto& [known, what] : offered_) owners.insert(first_part(known));
  std::set<std::string> told;
  for (const auto& [address, entry] : by_address_) {
    if (entry.used) continue;
    // A table with a misspelt name is one mistake, however many keys it has.
    bool lost_table = entry.origin == Origin::overrides_file && owners.count(first_part(address)) == 0;
    if (lost_table && !told.insert(first_part(address)).second) continue;
    bool dotted = address.find('.') != std::string::npos;
    Diagnostic& message =
        diagnostics.error("E0203", entry.address_span,
                          dotted ? "no setting has the address `" + address + "`" : "no parameter `" + address + "`");
    std::vector<std::string> whole;
    for (const auto& [known, what] : offered_) whole.push_back(known);
    std::vector<std::string> close = close_names(address, whole);
    // A name without a dot is compared with last parts below, not with whole addresses.
    if (!dotted) std::erase_if(close, [](const std::string& known) { return known.find('.') != std::string::npos; });
    // A wrong name behind a right owner is a name of that owner.
    auto is_of_owner = [&, owner = first_part(address)](const std::string& known) {
      return first_part(known) == owner;
    };
    if (std::any_of(close.begin(), close.end(), is_of_owner)) std::erase_if(close, std::not_fn(is_of_owner));
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
