// PCRE2: compiled once, matched within limits.
#include "nodes/format/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "nodes/format/format_error.h"

namespace rlflow {

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  bool whole;

  Compiled(const std::string& pattern, bool whole_text, bool valid_text) : whole(whole_text) {
    int error = 0;
    PCRE2_SIZE at = 0;
    const std::uint32_t options = PCRE2_UTF | PCRE2_UCP | (valid_text ? 0 : PCRE2_MATCH_INVALID_UTF) |
                                  PCRE2_NEVER_BACKSLASH_C | (whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0);
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error, &at, nullptr);
    if (code != nullptr) return;
    unsigned char text[256];
    pcre2_get_error_message(error, text, sizeof text);
    throw FormatError("the pattern `" + pattern + "` is not one, at byte " + std::to_string(at) + ": " +
                      reinterpret_cast<const char*>(text));
  }
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  struct Result {
    int code;
    PatternMatch span;
  };

  Result match(std::string_view text, std::size_t from, std::uint32_t options) const {
    constexpr std::uint32_t kMostSteps = 1'000'000, kMostKibibytes = 65'536;
    std::unique_ptr<pcre2_match_context, void (*)(pcre2_match_context*)> limits(pcre2_match_context_create(nullptr),
                                                                                pcre2_match_context_free);
    std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(pcre2_match_data_create(1, nullptr),
                                                                        pcre2_match_data_free);
    if (!limits || !data) throw std::bad_alloc();
    pcre2_set_match_limit(limits.get(), kMostSteps);
    pcre2_set_heap_limit(limits.get(), kMostKibibytes);
    const int result = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options,
                                   data.get(), limits.get());
    if (result < 0) return {result, {}};  // nothing was written
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
    return {result, {span[0], span[1]}};
  }

  PatternAnswer ask(std::string_view text) const {
    const auto [result, span] = match(text, 0, 0);
    // Bytes that are no UTF-8 end a text to PCRE2, but not to whoever asks for a whole match.
    if (result >= 0)
      return !whole || (span.begin == 0 && span.end == text.size()) ? PatternAnswer::yes : PatternAnswer::no;
    return result == PCRE2_ERROR_NOMATCH ? PatternAnswer::no : PatternAnswer::too_long;
  }
};

Pattern::Pattern(const std::string& pattern)
    : found_(std::make_unique<Compiled>(pattern, false, false)),
      whole_(std::make_unique<Compiled>(pattern, true, false)),
      valid_(std::make_unique<Compiled>(pattern, false, true)) {}

Pattern::~Pattern() = default;

PatternAnswer Pattern::found_in(std::string_view text) const { return found_->ask(text); }
PatternAnswer Pattern::matches_whole(std::string_view text) const { return whole_->ask(text); }

std::optional<PatternMatch> Pattern::find_from(std::string_view text, std::size_t from) const {
  const auto [result, span] = valid_->match(text, from, PCRE2_NO_UTF_CHECK);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0 || span.end < span.begin || span.end < from) {
    throw FormatError("a pattern takes more steps than it may, from byte " + std::to_string(from) + " of a text of " +
                      std::to_string(text.size()));
  }
  return span;
}

}  // namespace rlflow
