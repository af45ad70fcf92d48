// Did-you-mean by Damerau-Levenshtein distance.
#include "compiler/names.h"

#include <algorithm>
#include <utility>

namespace rlflow {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> close_names(std::string_view name, const std::vector<std::string>& candidates) {
  std::size_t limit = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
    std::size_t distance = edit_distance(name, candidate);
    if (distance <= limit && candidate != name) close.emplace_back(distance, candidate);
  }
  std::sort(close.begin(), close.end());
  close.erase(std::unique(close.begin(), close.end()), close.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < close.size() && i < 3; ++i) names.push_back(close[i].second);
  return names;
}

std::string quoted_list(const std::vector<std::string>& names, std::string_view last_word) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " " + std::string(last_word) + " " : ", ";
    text += "`" + names[i] + "`";
  }
  return text;
}

void suggest(Diagnostic& message, std::string_view name, Span span, const std::vector<std::string>& candidates,
             std::string_view what) {
  constexpr std::size_t kShortest = 3;  // of a beginning that stands for a whole name: `temp` for `temperature`
  std::vector<std::string> close = close_names(name, candidates);
  if (close.empty() && name.size() >= kShortest) {
    std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(close),
                 [&](const std::string& candidate) { return candidate.starts_with(name); });
  }
  if (close.size() == 1) {
    message.fix("did you mean `" + close[0] + "`?", Applicability::likely, {{span, close[0]}});
  } else if (!close.empty()) {
    message.help("did you mean " + quoted_list(close) + "?");
  } else if (candidates.size() == 1) {
    message.note("there is only `" + candidates[0] + "`");
  } else if (!candidates.empty() && candidates.size() <= 8) {
    std::vector<std::string> sorted = candidates;
    std::sort(sorted.begin(), sorted.end());
    message.note("the " + std::string(what) + " are " + quoted_list(sorted, "and"));
  } else if (candidates.empty()) {
    message.note("there are no " + std::string(what) + " here");
  }
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string counted(std::int64_t number, std::string_view singular) {
  return with_commas(number) + " " + std::string(singular) + (number == 1 ? "" : "s");
}

}  // namespace rlflow
