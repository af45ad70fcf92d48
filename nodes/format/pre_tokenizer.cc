// Steps that cut, and steps that also change what they cut.
#include "nodes/format/pre_tokenizer.h"

#include "nodes/format/format_error.h"
#include "nodes/format/unicode_text.h"

namespace rlflow {
namespace {

struct Stretch {
  std::size_t begin, end;
  bool match;
};

// All of `text` as stretches that match and stretches between them.
class Stretches {
 public:
  explicit Stretches(std::string_view text) : text_(text) {}

  void match(std::size_t begin, std::size_t end) {
    if (begin > from_) found_.push_back({from_, begin, false});
    if (end > begin) found_.push_back({begin, end, true});
    from_ = end;
  }
  std::vector<Stretch> finish() {
    match(text_.size(), text_.size());
    return std::move(found_);
  }

 private:
  std::string_view text_;
  std::size_t from_ = 0;
  std::vector<Stretch> found_;
};

std::vector<Stretch> matches_of(const PreTokenizerStep& step, std::string_view text) {
  Stretches stretches(text);
  if (step.words) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = word_end(*step.words, text, at);
      stretches.match(at, end);
      at = end;
    }
  } else if (step.pattern) {
    for (std::size_t at = 0; at < text.size();) {
      const auto found = step.pattern->find_from(text, at);
      if (!found) break;
      if (found->end > found->begin) stretches.match(found->begin, found->end);
      at = found->end;
      if (found->end == found->begin && at < text.size()) next_character(text, at);  // an empty match moves on
    }
  } else {
    for (std::size_t at = text.find(step.literal); at != std::string_view::npos; at = text.find(step.literal, at)) {
      stretches.match(at, at + step.literal.size());
      at += step.literal.size();
    }
  }
  return stretches.finish();
}

// Ends of the pieces that stay of `found`; what is removed is erased from between them by the caller.
std::vector<Stretch> behave(const std::vector<Stretch>& found, SplitBehavior behavior) {
  std::vector<Stretch> pieces;
  bool previous = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Stretch& stretch = found[i];
    bool joins = false;
    switch (behavior) {
      case SplitBehavior::isolated: break;
      case SplitBehavior::removed:
        if (stretch.match) continue;
        break;
      case SplitBehavior::contiguous: joins = i > 0 && stretch.match == previous; break;
      case SplitBehavior::merged_with_previous: joins = i > 0 && stretch.match && !previous; break;
      case SplitBehavior::merged_with_next: joins = i > 0 && previous && !stretch.match; break;
    }
    previous = stretch.match;
    if (joins) {
      pieces.back().end = stretch.end;
    } else {
      pieces.push_back(stretch);
    }
  }
  return pieces;
}

class Cutter {
 public:
  explicit Cutter(bool at_start) : at_start_(at_start) {}

  // Every piece of `from` through `step`.
  Pieces apply(const PreTokenizerStep& step, const Pieces& from) {
    to_ = {};
    to_.text.reserve(from.text.size() + 16);
    to_.ends.reserve(from.ends.size());
    std::size_t begin = 0;
    for (const std::size_t end : from.ends) {
      piece(step, std::string_view(from.text).substr(begin, end - begin), at_start_ && begin == 0);
      begin = end;
    }
    return std::move(to_);
  }

 private:
  void push(std::string_view text) {
    if (text.empty()) return;
    to_.text += text;
    to_.ends.push_back(to_.text.size());
  }

  void push_stretches(std::string_view text, const std::vector<Stretch>& stretches) {
    for (const Stretch& stretch : stretches) push(text.substr(stretch.begin, stretch.end - stretch.begin));
  }

  void words(WordRule rule, std::string_view text) {
    const std::size_t base = to_.text.size();
    to_.text += text;
    for (std::size_t at = 0; at < text.size();) {
      at = word_end(rule, text, at);
      to_.ends.push_back(base + at);
    }
  }

  void split(const PreTokenizerStep& step, std::string_view text) {
    if (step.words && step.behavior == SplitBehavior::isolated) return words(*step.words, text);
    std::vector<Stretch> found = matches_of(step, text);
    if (step.invert) {
      for (Stretch& stretch : found) stretch.match = !stretch.match;
    }
    push_stretches(text, behave(found, step.behavior));
  }

  void digits(bool individual, std::string_view text) {
    Stretches stretches(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      if (is_number(next_character(text, at))) stretches.match(begin, at);
    }
    push_stretches(text, behave(stretches.finish(), individual ? SplitBehavior::isolated : SplitBehavior::contiguous));
  }

  void byte_level(const PreTokenizerStep& step, std::string_view text) {
    if (!step.prefix_space || text.starts_with(' ')) return step.words ? words(*step.words, text) : push(text);
    const std::string prefixed = " " + std::string(text);
    return step.words ? words(*step.words, prefixed) : push(prefixed);
  }

  void metaspace(const PreTokenizerStep& step, std::string_view text, bool first) {
    std::string made = replaced_spaces(text, step.replacement);
    const bool prefix =
        step.prefix == PreTokenizerStep::Prefix::always || (step.prefix == PreTokenizerStep::Prefix::first && first);
    if (prefix && !made.starts_with(step.replacement)) made.insert(0, step.replacement);
    if (!step.split_at_space) return push(made);
    PreTokenizerStep at_replacement;
    at_replacement.literal = step.replacement;
    push_stretches(made, behave(matches_of(at_replacement, made), SplitBehavior::merged_with_next));
  }

  static std::string replaced_spaces(std::string_view text, std::string_view replacement) {
    std::string made;
    for (const char c : text) {
      if (c == ' ') {
        made += replacement;
      } else {
        made += c;
      }
    }
    return made;
  }

  void piece(const PreTokenizerStep& step, std::string_view text, bool first) {
    switch (step.kind) {
      case PreTokenizerStep::Kind::split: return split(step, text);
      case PreTokenizerStep::Kind::digits: return digits(step.individual, text);
      case PreTokenizerStep::Kind::byte_level: return byte_level(step, text);
      case PreTokenizerStep::Kind::metaspace: return metaspace(step, text, first);
    }
  }

  bool at_start_;
  Pieces to_;
};

}  // namespace

Pieces cut(const std::vector<PreTokenizerStep>& steps, std::string text, bool at_start) {
  Pieces pieces;
  pieces.text = std::move(text);
  if (!pieces.text.empty()) pieces.ends.push_back(pieces.text.size());
  Cutter cutter(at_start);
  for (const PreTokenizerStep& step : steps) pieces = cutter.apply(step, pieces);
  return pieces;
}

}  // namespace rlflow
