// Longest common subsequence of lines, cut into hunks.
#include "cli/unified_diff.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rlflow {
namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kLargestTable = 16'000'000;  // cells; larger middles are shown as replaced whole

// One line of the diff: ' ' in both, '-' only before, '+' only after.
struct Change {
  char sign;
  std::string_view line;  // its newline included, where it has one
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

using Lines = std::vector<std::string_view>;

// The middle, where both sides differ at their first and last lines.
void diff_middle(const Lines& a, const Lines& b, std::vector<Change>& changes) {
  const std::size_t columns = b.size() + 1;
  const bool fits = (a.size() + 1) * columns <= kLargestTable;
  // common[i][j]: length of the longest common subsequence of a[i..] and b[j..]
  std::vector<std::uint32_t> common(fits ? (a.size() + 1) * columns : 0);
  for (std::size_t i = fits ? a.size() : 0; i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i * columns + j] = a[i] == b[j] ? common[(i + 1) * columns + j + 1] + 1
                                             : std::max(common[(i + 1) * columns + j], common[i * columns + j + 1]);
    }
  }
  std::size_t i = 0, j = 0;
  while (fits && i < a.size() && j < b.size()) {
    if (a[i] == b[j]) {
      changes.push_back({' ', a[i++]});
      ++j;
    } else if (common[(i + 1) * columns + j] >= common[i * columns + j + 1]) {
      changes.push_back({'-', a[i++]});
    } else {
      changes.push_back({'+', b[j++]});
    }
  }
  while (i < a.size()) changes.push_back({'-', a[i++]});
  while (j < b.size()) changes.push_back({'+', b[j++]});
}

std::vector<Change> changes_between(const Lines& a, const Lines& b) {
  std::size_t front = 0, back = 0;
  while (front < a.size() && front < b.size() && a[front] == b[front]) ++front;
  while (back < a.size() - front && back < b.size() - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < front; ++i) changes.push_back({' ', a[i]});
  auto part = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(front), lines.end() - static_cast<std::ptrdiff_t>(back));
  };
  diff_middle(part(a), part(b), changes);
  for (std::size_t i = a.size() - back; i < a.size(); ++i) changes.push_back({' ', a[i]});
  return changes;
}

std::string range_text(std::size_t start, std::size_t count) {
  std::string text = std::to_string(count == 0 ? start : start + 1);
  return count == 1 ? text : text + "," + std::to_string(count);
}

// changes[begin, end) as one hunk; `a` and `b` are the lines in front of it.
std::string hunk(const std::vector<Change>& changes, std::size_t begin, std::size_t end, std::size_t a, std::size_t b) {
  std::size_t in_a = 0, in_b = 0;
  std::string body;
  for (std::size_t i = begin; i < end; ++i) {
    in_a += changes[i].sign != '+';
    in_b += changes[i].sign != '-';
    body += changes[i].sign + std::string(changes[i].line);
    if (!changes[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return "@@ -" + range_text(a, in_a) + " +" + range_text(b, in_b) + " @@\n" + body;
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after, const std::string& before_name,
                         const std::string& after_name) {
  const std::vector<Change> changes = changes_between(split(before), split(after));
  std::string text;
  std::size_t a = 0, b = 0, done = 0;  // lines in front of changes[done]
  auto advance = [&](std::size_t to) {
    for (; done < to; ++done) {
      a += changes[done].sign != '+';
      b += changes[done].sign != '-';
    }
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].sign == ' ') continue;
    std::size_t last = i;  // of the hunk: changes less than two contexts apart belong together
    for (std::size_t k = i; k < changes.size() && k <= last + 2 * kContext; ++k) {
      if (changes[k].sign != ' ') last = k;
    }
    const std::size_t begin = std::max(done, i - std::min(i, kContext));
    const std::size_t end = std::min(changes.size(), last + 1 + kContext);
    advance(begin);
    text += hunk(changes, begin, end, a, b);
    advance(end);
    i = end - 1;
  }
  return text.empty() ? "" : "--- " + before_name + "\n+++ " + after_name + "\n" + text;
}

}  // namespace rlflow
