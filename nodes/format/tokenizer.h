// How text becomes token ids and back, as a model folder's tokenizer.json says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"

namespace rlflow {

inline constexpr std::uint64_t kMaxTokenizerBytes = 64u << 20;  // of tokenizer.json

// Text that the vocabulary cannot write; `byte` is where.
struct EncodeError : FormatError {
  EncodeError(const std::string& message, std::size_t at) : FormatError(message), byte(at) {}
  std::size_t byte;
};

// One token a character: a tokenizer.json with model WordLevel, a Split pre-tokenizer that isolates every
// character, and no normaliser. Everything else is refused by name. Immutable; any thread may use it.
class Tokenizer {
 public:
  // Texts of tokenizer.json and tokenizer_config.json. Throws FormatError naming the key that is not understood.
  Tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json);

  // Without special tokens: none is added, and their names in `text` are only characters.
  std::vector<std::int32_t> encode(std::string_view text) const;  // throws EncodeError
  // What a model is asked with: bos, where the tokenizer has one, then the text.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;

  // Special tokens are written by name ("<eos>"). Ids must be in the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  // `ids` as the text a judge reads: one end token at the end is left out, all else is written.
  std::string decode_response(std::span<const std::int32_t> ids) const;

  std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(tokens_.size()); }
  std::int32_t bos() const { return bos_; }  // -1: the tokenizer has none
  std::int32_t eos() const { return eos_; }
  std::int32_t pad() const { return pad_; }

 private:
  std::vector<std::string> tokens_;                              // by id
  std::map<std::string, std::int32_t, std::less<>> characters_;  // tokens that encode() may give
  std::int32_t bos_ = -1;
  std::int32_t eos_ = -1;
  std::int32_t pad_ = -1;
};

// Reads `folder`/tokenizer.json and tokenizer_config.json.
Tokenizer read_tokenizer(const std::filesystem::path& folder);

}  // namespace rlflow
