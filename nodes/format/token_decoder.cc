// Per-token texts are made once; only bytes and beginnings need a state.
#include "nodes/format/token_decoder.h"

#include "nodes/format/text_normalizer.h"
#include "nodes/format/unicode_text.h"

namespace rlflow {
namespace {

// `<0x0A>` to `<0xff>`.
std::int16_t byte_named(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return static_cast<std::int16_t>(value);
}

std::string without_start(std::string text, const std::string& strip, std::size_t most) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < most && std::string_view(text).substr(begin).starts_with(strip); ++i)
    begin += strip.size();
  return text.substr(begin);
}

std::string text_of(const DecoderRules& rules, std::string text, bool first) {
  for (const DecoderRules::Replace& replace : rules.replaces) text = replaced(text, replace.pattern, replace.content);
  if (!rules.metaspace.empty()) {
    text = replaced(text, rules.metaspace, first && rules.metaspace_prefix ? "" : " ");
  }
  if (rules.strip_each) text = without_start(std::move(text), rules.strip, rules.strip_start);
  return text;
}

}  // namespace

DecoderTable decoder_table(DecoderRules rules, const std::vector<std::string>& tokens) {
  DecoderTable table;
  table.rules = std::move(rules);
  table.texts.reserve(tokens.size());
  for (const std::string& token : tokens) {
    if (table.rules.byte_fallback) table.byte_of.push_back(byte_named(token));
    table.texts.push_back(text_of(table.rules, token, false));
    if (table.rules.metaspace_prefix) table.first_texts.push_back(text_of(table.rules, token, true));
  }
  return table;
}

std::string DecodeStream::push(std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  const std::string& written = first_ && !table_->first_texts.empty() ? table_->first_texts[at] : table_->texts[at];
  first_ = false;
  std::string text;
  if (table_->rules.bytes) {
    held_ += written;
    held_.erase(0, append_valid_utf8(text, held_, false));
  } else if (table_->rules.byte_fallback && table_->byte_of[at] >= 0) {
    held_ += static_cast<char>(table_->byte_of[at]);
  } else {
    end_run(text);
    text += written;
  }
  return stripped(std::move(text));
}

std::string DecodeStream::finish() {
  std::string text;
  if (table_->rules.bytes) {
    append_valid_utf8(text, held_, true);
    held_.clear();
  } else {
    end_run(text);
  }
  return stripped(std::move(text));
}

void DecodeStream::end_run(std::string& text) {
  if (held_.empty()) return;
  std::string valid = valid_utf8(held_);
  if (valid != held_) {
    valid.clear();
    for (std::size_t i = 0; i < held_.size(); ++i) append_character(valid, 0xfffd);
  }
  text += valid;
  held_.clear();
}

std::string DecodeStream::stripped(std::string text) {
  const std::string& strip = table_->rules.strip;
  while (to_strip_ > 0 && !text.empty()) {
    if (!text.starts_with(strip)) {
      to_strip_ = 0;
    } else {
      text.erase(0, strip.size());
      --to_strip_;
    }
  }
  return text;
}

}  // namespace rlflow
