// Pairs brackets, reports those left open at their opener, and mends them so that parsing can go on.
#include "compiler/brackets.h"

#include <algorithm>
#include <string>

#include "compiler/brace_repair.h"

namespace rlflow {
namespace {

bool opens(Terminal t) { return t == Terminal::lparen || t == Terminal::lbracket || t == Terminal::lbrace; }
bool closes(Terminal t) { return t == Terminal::rparen || t == Terminal::rbracket || t == Terminal::rbrace; }

Terminal closer_of(Terminal opener) {
  if (opener == Terminal::lparen) return Terminal::rparen;
  return opener == Terminal::lbracket ? Terminal::rbracket : Terminal::rbrace;
}

const char* text_of(Terminal bracket) {
  if (bracket == Terminal::rparen) return ")";
  return bracket == Terminal::rbracket ? "]" : "}";
}

bool is_declaration_word(Terminal t) { return t >= Terminal::k_import && t <= Terminal::k_flow; }

// `flow x {`, `model x =`, `param x :`, `import "…"` at the beginning of a line.
bool declaration_begins(const std::vector<Lexeme>& visible, std::size_t i) {
  if (!is_declaration_word(visible[i].type) || i == 0 || visible[i - 1].type != Terminal::newline) return false;
  if (i + 2 >= visible.size()) return false;
  if (visible[i].type == Terminal::k_import) return visible[i + 1].type == Terminal::string;
  Terminal third = visible[i + 2].type;
  return visible[i + 1].type == Terminal::id &&
         (third == Terminal::assign || third == Terminal::colon || third == Terminal::lbrace);
}

// A declaration in the middle of a block whose braces pair is misplaced; the block is not left open.
bool block_is_closed_later(const std::vector<Lexeme>& visible, std::size_t i, std::size_t open_braces) {
  for (; i < visible.size(); ++i) {
    if (visible[i].type == Terminal::lbrace) ++open_braces;
    if (visible[i].type == Terminal::rbrace && --open_braces == 0) return true;
  }
  return false;
}

class Balancer {
 public:
  Balancer(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : file_(file), sources_(sources), diagnostics_(diagnostics) {}

  Balanced run(std::vector<Lexeme> visible) {
    repair_braces(visible, file_, sources_, result_.suspect, diagnostics_);
    for (std::size_t i = 0; i < visible.size() && !result_.too_deep; ++i) {
      bool ends = visible[i].type == Terminal::end;
      bool begins = declaration_begins(visible, i) && !(in_block() && block_is_closed_later(visible, i, braces_));
      if (ends && !open_.empty()) report_end(visible[i]);
      if (begins || ends) close_all(visible[i], !ends);
      add(visible[i]);
    }
    for (const Item& item : items_) {
      if (!item.dropped) result_.lexemes.push_back(item.lexeme);
    }
    return std::move(result_);
  }

 private:
  struct Item {
    Lexeme lexeme;
    bool dropped = false;  // a newline inside ( ) or [ ]
  };

  const Lexeme& opener() const { return items_[open_.back()].lexeme; }
  bool in_parens() const { return !open_.empty() && opener().type != Terminal::lbrace; }

  // Whether the innermost bracket is the `{` of a flow or an `every`.
  bool in_block() const {
    if (open_.empty() || in_parens()) return false;
    std::size_t first = open_.back();
    while (first > 0 && items_[first - 1].lexeme.type != Terminal::newline &&
           items_[first - 1].lexeme.type != Terminal::lbrace)
      --first;
    return items_[first].lexeme.type == Terminal::k_flow || items_[first].lexeme.type == Terminal::k_every;
  }

  void add(const Lexeme& lexeme) {
    Terminal type = lexeme.type;
    bool proof =
        type == Terminal::lbrace || type == Terminal::rbrace || type == Terminal::colon || type == Terminal::arrow;
    while (proof && in_parens()) close_paren(lexeme, true);
    if (closes(type)) take_closer(lexeme);
    items_.push_back({lexeme, type == Terminal::newline && in_parens()});
    if (!opens(type)) return;
    open_.push_back(items_.size() - 1);
    if (type == Terminal::lbrace) ++braces_;
    if (open_.size() > static_cast<std::size_t>(kMaxDepth)) report_depth(lexeme);
  }

  void take_closer(const Lexeme& closer) {
    // `f(a[1)`: the inner bracket was left open where the outer one fits.
    if (open_.size() > 1 && in_parens() && closer_of(opener().type) != closer.type &&
        closer_of(items_[open_[open_.size() - 2]].lexeme.type) == closer.type) {
      close_paren(closer, true);
    }
    if (open_.empty() || closer_of(opener().type) != closer.type) return;
    if (closer.type == Terminal::rbrace) --braces_;
    open_.pop_back();
  }

  // Closes the innermost ( or [ at the end of its line; the newlines since then count again.
  void close_paren(const Lexeme& proof, bool tell) {
    report(opener(), proof, tell);
    auto line_end = std::find_if(items_.begin() + static_cast<std::ptrdiff_t>(open_.back()), items_.end(),
                                 [](const Item& item) { return item.lexeme.type == Terminal::newline; });
    std::uint32_t place = line_end == items_.end() ? proof.begin : line_end->lexeme.begin;
    line_end = items_.insert(line_end, {{closer_of(opener().type), place, place}, false});
    open_.pop_back();
    if (in_parens()) return;
    for (; line_end != items_.end(); ++line_end) line_end->dropped = false;
  }

  void close_all(const Lexeme& proof, bool tell) {
    for (; !open_.empty();) {
      if (in_parens()) {
        close_paren(proof, tell);
        continue;
      }
      report(opener(), proof, tell);
      auto end = items_.end();
      while ((end - 1)->lexeme.type == Terminal::newline) --end;
      items_.insert(end, {{Terminal::rbrace, proof.begin, proof.begin}, false});
      --braces_;
      open_.pop_back();
    }
  }

  // One message for all that the end of the file leaves open, at the innermost.
  void report_end(const Lexeme& end) {
    if (std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(open_.back()), items_.end(),
                    [](const Item& item) { return item.lexeme.type == Terminal::bad_string; }))
      return;
    Span span{file_, opener().begin, opener().end};
    Diagnostic& message =
        diagnostics_.error("E0102", span, "`" + std::string(sources_.text(span)) + "` is never closed")
            .label("opened here");
    std::string closers = "`" + std::string(text_of(closer_of(opener().type))) + "`";
    for (std::size_t i = open_.size() - 1; i-- > 0;) {
      const Lexeme& outer = items_[open_[i]].lexeme;
      message.at({file_, outer.begin, outer.end}, "still open, too");
      closers += " and `" + std::string(text_of(closer_of(outer.type))) + "`";
    }
    message.at({file_, end.begin, end.begin}, "the file ends").help("close it with " + closers);
  }

  // Syntax errors from the opener to the end of the line before the proof follow from it. A string that was
  // left open may have swallowed the closer, a stray character may stand for one; they have been reported.
  void report(const Lexeme& opener, const Lexeme& proof, bool tell) {
    std::uint32_t doubtful = proof.end;
    bool swallowed = false;
    for (const Item& item : items_) {
      if (item.lexeme.begin < opener.begin) continue;
      if (item.lexeme.type == Terminal::newline) doubtful = item.lexeme.begin;
      swallowed = swallowed || item.lexeme.type == Terminal::bad_string || item.lexeme.type == Terminal::bad_char;
    }
    // A block that the file ends in has lines of its own; only the last one is in doubt.
    bool block = !tell && opener.type == Terminal::lbrace && open_.size() == 1;
    result_.suspect.push_back({file_, block ? doubtful : opener.begin, doubtful});
    if (swallowed || !tell) return;
    Span span{file_, opener.begin, opener.end};
    diagnostics_.error("E0102", span, "`" + std::string(sources_.text(span)) + "` is never closed")
        .label("opened here")
        .at({file_, proof.begin, proof.end}, "this cannot stand inside it")
        .help("close it with `" + std::string(text_of(closer_of(opener.type))) + "`");
  }

  void report_depth(const Lexeme& lexeme) {
    std::string most = std::to_string(kMaxDepth);
    diagnostics_.error("E0109", {file_, lexeme.begin, lexeme.end}, "brackets are nested more than " + most + " deep")
        .label("level " + std::to_string(kMaxDepth + 1))
        .help("give an inner part a name of its own");
    result_.too_deep = true;
  }

  FileId file_;
  const SourceMap& sources_;
  Diagnostics& diagnostics_;
  Balanced result_;
  std::vector<Item> items_;
  std::vector<std::size_t> open_;  // indices into items_; closers are only ever put behind them
  std::size_t braces_ = 0;         // how many of them are braces
};

}  // namespace

Balanced balance(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  std::vector<Lexeme> visible;
  std::copy_if(lexemes.begin(), lexemes.end(), std::back_inserter(visible),
               [](const Lexeme& lexeme) { return lexeme.type != Terminal::comment && lexeme.type != Terminal::space; });
  return Balancer(file, sources, diagnostics).run(visible);
}

}  // namespace rlflow
