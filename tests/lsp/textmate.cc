// Line by line, the leftmost match, of equals the first pattern; a `begin` rules until its `end`.
#include "tests/lsp/textmate.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>

namespace rlflow::testing {
namespace {

using nlohmann::json;

class Scanner {
 public:
  explicit Scanner(const json& grammar) : grammar_(grammar) {}

  std::vector<std::string> scan(const std::string& text) {
    scopes_.assign(text.size(), "");
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = std::min(text.find('\n', begin), text.size());
      line_ = text.substr(begin, end - begin);
      line_begin_ = begin;
      scan_line();
      begin = end + 1;
    }
    return scopes_;
  }

 private:
  struct Found {
    const json* rule = nullptr;
    std::smatch match;
    std::size_t begin = 0;
  };

  void scan_line() {
    std::size_t at = 0;
    while (at < line_.size()) {
      std::optional<Found> found = open_ == nullptr ? first(grammar_["patterns"], at) : inside(at);
      if (!found) {
        if (open_ != nullptr) paint(at, line_.size(), (*open_)["name"]);
        break;
      }
      if (open_ != nullptr) paint(at, found->begin, (*open_)["name"]);
      at = take(*found);
    }
    // `$` as an end matches behind the last byte, too.
    if (open_ != nullptr && search((*open_)["end"], line_.size())) open_ = nullptr;
  }

  std::size_t take(const Found& found) {
    const std::size_t end = found.begin + static_cast<std::size_t>(found.match.length(0));
    if (found.rule == nullptr) {  // the end of what is open
      paint(found.begin, end, (*open_)["name"]);
      open_ = nullptr;
      return end;
    }
    const json& rule = *found.rule;
    if (rule.contains("name")) paint(found.begin, end, rule["name"]);
    const json captures = rule.value("captures", json::object());
    for (const auto& [number, capture] : captures.items()) {
      const auto group = static_cast<std::size_t>(std::stoi(number));
      if (!found.match[group].matched) continue;
      const std::size_t begin =
          found.begin + static_cast<std::size_t>(found.match.position(group) - found.match.position(0));
      paint(begin, begin + static_cast<std::size_t>(found.match.length(group)), capture["name"]);
    }
    if (rule.contains("begin")) open_ = &rule;
    EXPECT_GT(end, found.begin) << "a pattern that matches nothing: " << rule.dump();
    return std::max(end, found.begin + 1);
  }

  // The leftmost of the patterns, those they include among them.
  std::optional<Found> first(const json& patterns, std::size_t at) {
    std::optional<Found> best;
    for (const json& rule : patterns) {
      std::optional<Found> found;
      if (rule.contains("include")) {
        const json& named = grammar_["repository"].at(rule["include"].get<std::string>().substr(1));
        found = named.contains("patterns") && !named.contains("begin") ? first(named["patterns"], at) : one(named, at);
      } else {
        found = one(rule, at);
      }
      if (found && (!best || found->begin < best->begin)) best = std::move(found);
    }
    return best;
  }

  std::optional<Found> inside(std::size_t at) {
    std::optional<Found> end = search((*open_)["end"], at);
    std::optional<Found> inner;
    if (open_->contains("patterns")) inner = first((*open_)["patterns"], at);
    return inner && (!end || inner->begin < end->begin) ? inner : end;
  }

  std::optional<Found> one(const json& rule, std::size_t at) {
    std::optional<Found> found = search(rule.contains("begin") ? rule["begin"] : rule["match"], at);
    if (found) found->rule = &rule;
    return found;
  }

  std::optional<Found> search(const std::string& pattern, std::size_t at) {
    auto [known, fresh] = compiled_.try_emplace(pattern);
    if (fresh) known->second.assign(pattern, std::regex::ECMAScript);
    auto flags = std::regex_constants::match_default;
    if (at > 0) flags |= std::regex_constants::match_prev_avail | std::regex_constants::match_not_bol;
    Found found;
    if (!std::regex_search(line_.cbegin() + static_cast<std::ptrdiff_t>(at), line_.cend(), found.match, known->second,
                           flags))
      return std::nullopt;
    found.begin = at + static_cast<std::size_t>(found.match.position(0));
    return found;
  }

  void paint(std::size_t begin, std::size_t end, const std::string& scope) {
    for (std::size_t i = begin; i < end; ++i) scopes_[line_begin_ + i] = scope;
  }

  const json& grammar_;
  std::map<std::string, std::regex> compiled_;
  std::string line_;
  std::size_t line_begin_ = 0;
  const json* open_ = nullptr;
  std::vector<std::string> scopes_;
};

}  // namespace

std::vector<std::string> scopes_of(const std::string& text, const json& grammar) { return Scanner(grammar).scan(text); }

}  // namespace rlflow::testing
