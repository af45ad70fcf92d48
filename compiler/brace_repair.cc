// Finds the brace that is missing or too many where it was forgotten, not where the file ends.
#include "compiler/brace_repair.h"

#include <algorithm>
#include <optional>
#include <string>

namespace rlflow {
namespace {

struct Pair {
  std::size_t open;
  std::size_t close;
};

class BraceRepair {
 public:
  BraceRepair(std::vector<Lexeme>& visible, FileId file, const SourceMap& sources, std::vector<Span>& suspect,
              Diagnostics& diagnostics)
      : visible_(visible),
        file_(file),
        text_(sources.file(file).text),
        line_starts_(sources.file(file).line_starts),
        suspect_(suspect),
        diagnostics_(diagnostics) {}

  void run() {
    open_flow();
    pair_up();
    if (!unclosed_.empty()) {
      close_early();
    } else if (!unopened_.empty()) {
      drop_closer();
    }
  }

 private:
  Span span(std::size_t i) const { return {file_, visible_[i].begin, visible_[i].end}; }
  std::size_t line_begin(std::size_t i) const {
    return *(std::upper_bound(line_starts_.begin(), line_starts_.end(), visible_[i].begin) - 1);
  }
  std::size_t indent(std::size_t i) const {
    std::size_t begin = line_begin(i);
    return text_.find_first_not_of(" \t", begin) - begin;
  }
  bool is_first(std::size_t i) const { return line_begin(i) + indent(i) == visible_[i].begin; }
  bool on_one_line(std::size_t a, std::size_t b) const { return line_begin(a) == line_begin(b); }

  // `flow grpo` at the end of a line: the block that follows is read as its own.
  void open_flow() {
    for (std::size_t i = 0; i + 2 < visible_.size(); ++i) {
      bool begins = i == 0 || visible_[i - 1].type == Terminal::newline;
      if (!begins || visible_[i].type != Terminal::k_flow || visible_[i + 1].type != Terminal::id) continue;
      if (visible_[i + 2].type != Terminal::newline) continue;
      Span behind{file_, visible_[i + 1].end, visible_[i + 1].end};
      diagnostics_.error("E0101", behind, "expected `{`, but the line ends")
          .label("expected `{`")
          .fix("open the flow: `flow " +
                   std::string(text_.substr(visible_[i + 1].begin, behind.end - visible_[i + 1].begin)) + " {`",
               Applicability::likely, {{behind, " {"}});
      visible_.insert(visible_.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                      {Terminal::lbrace, behind.end, behind.end});
    }
  }

  void pair_up() {
    for (std::size_t i = 0; i < visible_.size(); ++i) {
      if (visible_[i].type == Terminal::lbrace) unclosed_.push_back(i);
      if (visible_[i].type != Terminal::rbrace) continue;
      if (unclosed_.empty()) {
        unopened_.push_back(i);
        continue;
      }
      pairs_.push_back({unclosed_.back(), i});
      unclosed_.pop_back();
    }
  }

  // A closer that begins a line further left than its opener's line belongs to an outer brace.
  void close_early() {
    auto wrong = std::find_if(pairs_.begin(), pairs_.end(), [this](const Pair& pair) {
      return is_first(pair.close) && indent(pair.close) < indent(pair.open);
    });
    if (wrong == pairs_.end()) return;
    std::size_t end = wrong->open;
    auto next_line = [this](std::size_t i) { return visible_[i].type == Terminal::newline && i + 1 < visible_.size(); };
    while (!(next_line(end) && visible_[end + 1].type != Terminal::newline && indent(end + 1) <= indent(wrong->open)))
      ++end;
    Span opener = span(wrong->open);
    diagnostics_.error("E0102", opener, "`{` is never closed")
        .label("opened here")
        .at(span(end + 1), "this cannot stand inside it")
        .help("close it with `}`");
    suspect_.push_back({file_, opener.begin, visible_[end].begin});
    std::uint32_t place = visible_[end].begin;
    visible_.insert(visible_.begin() + static_cast<std::ptrdiff_t>(end), {Terminal::rbrace, place, place});
  }

  // `… { clip = 0.2 }}`: behind a closer whose opener is there, and not of an `every` that lacks its own.
  bool is_doubled(std::size_t closer) const {
    if (closer == 0 || visible_[closer - 1].type != Terminal::rbrace) return false;
    std::size_t first = closer;
    while (first > 0 && visible_[first - 1].type != Terminal::newline) --first;
    if (visible_[first].type != Terminal::k_every) return true;
    auto brace = std::find_if(visible_.begin() + static_cast<std::ptrdiff_t>(first),
                              visible_.begin() + static_cast<std::ptrdiff_t>(closer),
                              [](const Lexeme& l) { return l.type == Terminal::lbrace; });
    return (brace - 1)->type != Terminal::rparen;
  }

  // A closer behind other words of its line that closes what an earlier line opened has no opener of its own. The one
  // that is left over at the end then is the one that closes the flow.
  void drop_closer() {
    auto wrong = std::find_if(pairs_.begin(), pairs_.end(), [this](const Pair& pair) {
      return !is_first(pair.close) && !on_one_line(pair.open, pair.close);
    });
    std::size_t extra = wrong == pairs_.end() ? unopened_.front() : wrong->close;
    Diagnostic& message = diagnostics_.error("E0101", span(extra), "`}` closes nothing: no `{` was opened for it");
    message.label("no `{` in front of it");
    if (wrong == pairs_.end() || is_doubled(extra)) {
      message.fix("delete it", Applicability::likely, {{span(extra), ""}});
    } else {
      message.help("settings stand in `{ }`: put in the `{`");
    }
    auto begin = static_cast<std::uint32_t>(line_begin(extra));
    suspect_.push_back({file_, begin, visible_[extra].end});
    visible_.erase(visible_.begin() + static_cast<std::ptrdiff_t>(extra));
  }

  std::vector<Lexeme>& visible_;
  FileId file_;
  std::string_view text_;
  const std::vector<std::uint32_t>& line_starts_;
  std::vector<Span>& suspect_;
  Diagnostics& diagnostics_;
  std::vector<Pair> pairs_;
  std::vector<std::size_t> unclosed_;
  std::vector<std::size_t> unopened_;
};

}  // namespace

void repair_braces(std::vector<Lexeme>& visible, FileId file, const SourceMap& sources, std::vector<Span>& suspect,
                   Diagnostics& diagnostics) {
  BraceRepair(visible, file, sources, suspect, diagnostics).run();
}

}  // namespace rlflow
