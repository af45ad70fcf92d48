// What a tokenizer.json says, read strictly: every key is understood or refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/added_tokens.h"
#include "nodes/format/byte_pairs.h"
#include "nodes/format/pre_tokenizer.h"
#include "nodes/format/text_normalizer.h"
#include "nodes/format/token_decoder.h"

namespace rlflow {

inline constexpr std::size_t kMaxVocabulary = 1u << 20;  // token ids

struct TokenizerFile {
  std::vector<std::string> tokens;  // by id, as written in the file; empty: no token has this id
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  bool characters = false;  // model WordLevel: one token a character, and `pairs` is empty
  BytePairRules pairs;      // model BPE
  DecoderRules decoder;
  std::vector<std::int32_t> before, after;  // what the post-processor puts around a text
};

// Throws FormatError that begins with "tokenizer.json: " and names the key. Nothing is allocated that the text itself
// does not pay for.
TokenizerFile read_tokenizer_file(std::string_view tokenizer_json);

}  // namespace rlflow
