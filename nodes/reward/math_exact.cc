// Which number does a text end in, and are two of them one value?
#include "nodes/reward/math_exact.h"

#include <algorithm>

namespace rlflow {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One number as written: [begin, end) of the text.
struct Written {
  std::size_t begin = 0, end = 0;
  std::string digits;    // before the point
  std::string fraction;  // behind it
  bool negative = false;
};

// Digits from `at`, without commas that stand before exactly three more.
std::string whole_digits(std::string_view text, std::size_t& at) {
  std::string digits;
  while (at < text.size()) {
    if (is_digit(text[at])) {
      digits += text[at++];
      continue;
    }
    const bool group = text[at] == ',' && !digits.empty() && at + 3 < text.size() && is_digit(text[at + 1]) &&
                       is_digit(text[at + 2]) && is_digit(text[at + 3]) &&
                       (at + 4 == text.size() || !is_digit(text[at + 4]));
    if (!group) break;
    ++at;
  }
  return digits;
}

// The first number at or behind `from`. A minus counts as a sign unless it stands between two operands: 7-5.
std::optional<Written> next_number(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const bool point = text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]);
    if (!is_digit(text[at]) && !point) continue;
    Written number;
    number.begin = at;
    number.digits = whole_digits(text, at);
    if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
      for (++at; at < text.size() && is_digit(text[at]); ++at) number.fraction += text[at];
    }
    number.end = at;
    std::size_t sign = number.begin;
    if (sign > from && text[sign - 1] == '$') --sign;
    if (sign > from && text[sign - 1] == '-') {
      const char before = sign > 1 ? text[sign - 2] : ' ';
      number.negative = !is_digit(before) && before != ')';
    }
    return number;
  }
  return std::nullopt;
}

std::string in_one_form(const Written& number) {
  std::string whole = number.digits, fraction = number.fraction;
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (whole.empty()) whole = "0";
  const bool zero = whole == "0" && fraction.empty();
  return (number.negative && !zero ? "-" : "") + whole + (fraction.empty() ? "" : "." + fraction);
}

std::optional<std::string> first_number(std::string_view text) {
  const std::optional<Written> number = next_number(text, 0);
  return number ? std::optional(in_one_form(*number)) : std::nullopt;
}

std::string_view boxed(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return text.substr(open + 1, at - open - 1);
  }
  return {};
}

}  // namespace

std::optional<std::string> final_number(std::string_view text) {
  constexpr std::string_view kMark = "####", kBox = "\\boxed{";
  if (const std::size_t mark = text.rfind(kMark); mark != std::string_view::npos) {
    return first_number(text.substr(mark + kMark.size()));
  }
  if (const std::size_t box = text.rfind(kBox); box != std::string_view::npos) {
    return first_number(boxed(text, box + kBox.size() - 1));
  }
  std::optional<std::string> last;
  for (std::optional<Written> number = next_number(text, 0); number; number = next_number(text, number->end)) {
    last = in_one_form(*number);
  }
  return last;
}

std::string MathExact::answer(const RewardRequest& request) const {
  return request.ended ? final_number(request.response).value_or("") : "";
}

RewardVerdict MathExact::verdict(const RewardRequest& request) const {
  const std::optional<std::string> answer = final_number(request.answer);
  if (!answer) return no_verdict("the answer `" + std::string(request.answer) + "` holds no number");
  if (!request.ended) return verdict_of(0);
  return verdict_of(final_number(request.response) == answer ? 1 : 0);
}

}  // namespace rlflow
