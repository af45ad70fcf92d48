// How text becomes token ids and back, as a model folder's tokenizer.json says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/chat_template.h"
#include "nodes/format/format_error.h"
#include "nodes/format/token_decoder.h"

namespace rlflow {

inline constexpr std::uint64_t kMaxTokenizerBytes = 64u << 20;  // of tokenizer.json

// Text that the vocabulary cannot write; `byte` is where.
struct EncodeError : FormatError {
  EncodeError(const std::string& message, std::size_t at) : FormatError(message), byte(at) {}
  std::size_t byte;
};

// A tokenizer.json with model BPE (byte-level, or of characters with byte fallback), or with model WordLevel and one
// token a character. Everything that it does not understand is refused by name. Ids are those of the PyPI package
// `tokenizers` without its post-processor. Bytes that are no UTF-8 count as U+FFFD (append_valid_utf8), white space and
// classes of characters are those of Unicode 15.0. Immutable; any thread may use it.
class Tokenizer {
 public:
  // Texts of tokenizer.json, tokenizer_config.json and, where there is one, generation_config.json. Throws FormatError
  // naming the key that is not understood.
  Tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json,
            std::string_view generation_config_json = "{}");
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Nothing is added to the text, and names of special tokens in it are only characters: what is content never becomes
  // a control token. (Added tokens that are not special are words of the vocabulary, and found.) Throws EncodeError.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // The parts joined, as one text; special tokens are found in control parts alone. `names` are kept out of the other
  // parts too, whatever the file calls them.
  std::vector<std::int32_t> encode(std::span<const TextPart> parts, std::span<const std::string> names = {}) const;
  // What a model is asked with: what the post-processor begins with (bos, where the tokenizer adds it), then the text.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;

  // Special tokens are written by name ("<eos>"). Valid UTF-8. Throws FormatError for an id that no token has.
  std::string decode(std::span<const std::int32_t> ids) const;

  // `ids` as the text a judge reads: one end token at the end is left out, all else is written.
  std::string decode_response(std::span<const std::int32_t> ids) const;

  // The same one by one; must not outlive the tokenizer. push() takes ids of 0 to vocabulary_size()-1.
  DecodeStream decode_stream() const;

  std::int32_t vocabulary_size() const;                            // ids are 0 to this - 1
  std::optional<std::int32_t> id_of(std::string_view name) const;  // of a token as the file writes it
  const std::string& token(std::int32_t id) const;                 // as the file writes it
  bool is_special(std::int32_t id) const;
  std::span<const std::int32_t> before_prompt() const;  // what encode_prompt puts first

  std::int32_t bos() const;  // of tokenizer_config.json; -1: the tokenizer has none
  std::int32_t eos() const;
  std::int32_t pad() const;
  // What ends a response: eos, then the further ones of generation_config.json.
  const std::vector<std::int32_t>& end_ids() const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

// Reads `folder`/tokenizer.json, tokenizer_config.json and, if there is one, generation_config.json.
Tokenizer read_tokenizer(const std::filesystem::path& folder);

}  // namespace rlflow
