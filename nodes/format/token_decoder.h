// How tokens become text again, one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rlflow {

// The decoder of tokenizer.json, whose steps come in this order.
struct DecoderRules {
  struct Replace {
    std::string pattern, content;
  };
  bool bytes = false;             // tokens are bytes (ByteLevel)
  std::vector<Replace> replaces;  // in each token
  std::string metaspace;          // in each token a space; in the first of all nothing, if `metaspace_prefix`
  bool metaspace_prefix = false;
  bool byte_fallback = false;   // tokens `<0xE2>` are bytes
  std::string strip;            // one character, taken from the beginning …
  std::size_t strip_start = 0;  // … this many times at most
  bool strip_each = false;      // of each token, rather than of the whole text
};

// What decoding needs of a vocabulary, made once. Immutable; any number of threads may use it.
struct DecoderTable {
  DecoderRules rules;
  std::vector<std::string> texts;        // by token id: what the token writes; bytes, where rules.bytes
  std::vector<std::string> first_texts;  // what it writes as the first of all; empty vector: the same
  std::vector<std::int16_t> byte_of;     // by token id: the byte that it is by byte_fallback, or -1
};

DecoderTable decoder_table(DecoderRules rules, const std::vector<std::string>& tokens);

// Text of tokens as they come. What push() and finish() return, joined, is what the same tokens give at once, and each
// part is valid UTF-8: bytes are held back until a character is complete. A run of `<0x..>` tokens is held back until
// it ends, since one wrong byte makes every byte of the run U+FFFD (as the `tokenizers` package has it). The table must
// outlive it. One thread at a time.
class DecodeStream {
 public:
  explicit DecodeStream(const DecoderTable& table)
      : table_(&table), to_strip_(table.rules.strip_each ? 0 : table.rules.strip_start) {}

  std::string push(std::int32_t id);  // 0 <= id < table.texts.size()
  std::string finish();               // what was held back

 private:
  void end_run(std::string& text);
  std::string stripped(std::string text);

  const DecoderTable* table_;
  std::string held_;  // bytes without a whole character; with byte_fallback a run
  bool first_ = true;
  std::size_t to_strip_;
};

}  // namespace rlflow
