// Which properties does a tokenizer break with a text?
#include "tests/fuzz/tokenizer_properties.h"

#include "nodes/format/tokenizer.h"
#include "nodes/format/unicode_text.h"

namespace rlflow::testing {
namespace {

using Ids = std::vector<std::int32_t>;

std::string fault_of_ids(const Tokenizer& tokenizer, const Ids& ids) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= tokenizer.vocabulary_size()) return "an id that no token has";
  }
  const std::string text = tokenizer.decode(ids);
  if (valid_utf8(text) != text) return "a text that is no UTF-8";
  DecodeStream stream = tokenizer.decode_stream();
  std::string streamed;
  for (const std::int32_t id : ids) {
    const std::string part = stream.push(id);
    if (valid_utf8(part) != part) return "a part of a stream that is no UTF-8";
    streamed += part;
  }
  return streamed + stream.finish() == text ? "" : "a stream that differs from the text at once";
}

std::string fault_of_text(const Tokenizer& tokenizer, const std::string& text, bool control) {
  const std::vector<TextPart> parts = {{text, control}};
  try {
    const Ids ids = tokenizer.encode(parts);
    if (tokenizer.encode(parts) != ids) return "two encodings of one text differ";
    for (const std::int32_t id : ids) {
      // One character may be a special token and a letter of the alphabet.
      if (!control && tokenizer.is_special(id) && tokenizer.token(id).size() > 4)
        return "content became a control token";
    }
    return fault_of_ids(tokenizer, ids);
  } catch (const FormatError&) {
    return "";  // a character without a token, a pattern that takes too long
  }
}

}  // namespace

std::string broken_tokenizer_property(const std::string& input) {
  const std::size_t end = input.find('\0');
  const std::string text = end == std::string::npos ? "" : input.substr(end + 1);
  try {
    const Tokenizer tokenizer(input.substr(0, end), "{}");
    Ids all;
    for (std::int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) all.push_back(id);
    std::string fault = fault_of_ids(tokenizer, all);
    if (fault.empty()) fault = fault_of_text(tokenizer, text, true);
    if (fault.empty()) fault = fault_of_text(tokenizer, text, false);
    return fault;
  } catch (const FormatError& error) {
    return std::string(error.what()).starts_with("tokenizer.json: ") ? "" : "a refusal that does not name the file";
  }
}

}  // namespace rlflow::testing
