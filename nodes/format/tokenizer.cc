// Added tokens first, then normalizer, pre-tokenizer and model on what is between them.
#include "nodes/format/tokenizer.h"

#include <algorithm>

#include "nodes/format/byte_alphabet.h"
#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/tokenizer_file.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

// "bos_token" of tokenizer_config.json: a string, or an object with `content`.
std::int32_t named_id(const Json& config, const char* key, const TokenTable& names) {
  Json token = config.contains(key) ? config[key] : Json();
  if (token.is_object()) token = token.contains("content") ? token["content"] : Json();
  if (token.is_null()) return -1;
  const std::int32_t id = token.is_string() ? names.find(token.get<std::string>()) : -1;
  if (id < 0) {
    throw FormatError(std::string("tokenizer_config.json: ") + key + " " + token.dump().substr(0, 80) +
                      " is not in the vocabulary");
  }
  return id;
}

// eos, then those of "eos_token_id": a number or a list of numbers.
std::vector<std::int32_t> end_ids_of(std::int32_t eos, const Json& generation, std::size_t tokens) {
  std::vector<std::int32_t> ids;
  if (eos >= 0) ids.push_back(eos);
  const Json listed = generation.contains("eos_token_id") ? generation["eos_token_id"] : Json();
  if (listed.is_null()) return ids;
  for (const Json& id : listed.is_array() ? listed : Json::array({listed})) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens) {
      throw FormatError("generation_config.json: eos_token_id " + id.dump().substr(0, 80) + " is no token");
    }
    const auto number = id.get<std::int32_t>();
    if (std::find(ids.begin(), ids.end(), number) == ids.end()) ids.push_back(number);
  }
  return ids;
}

std::vector<std::string> decoded_texts(const TokenizerFile& file) {
  std::vector<std::string> texts = file.tokens;
  if (!file.decoder.bytes) return texts;
  for (std::string& text : texts) text = bytes_of_token(text).value_or(text);
  return texts;
}

Json parse_object(std::string_view text, const char* name) {
  Json json = parse_json(text, name);
  if (!json.is_object()) throw FormatError(std::string(name) + ": is not an object");
  return json;
}

std::string quoted_start(std::string_view text) {
  return Json(std::string(text.substr(0, 80))).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

struct Tokenizer::Parts {
  TokenizerFile file;
  TokenTable names;  // over file.tokens
  AddedTokens added, added_normalized;
  BytePairs pairs;
  DecoderTable decoder;
  std::vector<bool> special;  // by id
  std::int32_t bos = -1, eos = -1, pad = -1;
  std::vector<std::int32_t> end_ids;

  explicit Parts(TokenizerFile read)
      : file(std::move(read)),
        names(file.tokens),
        added(file.added, false, file.normalizer),
        added_normalized(file.added, true, file.normalizer),
        pairs(std::move(file.pairs)),
        decoder(decoder_table(file.decoder, decoded_texts(file))),
        special(file.tokens.size()) {
    for (const AddedToken& token : file.added) special[static_cast<std::size_t>(token.id)] = token.special;
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Appends the tokens of a text without added tokens.
  void encode_plain(std::string text, bool at_start, std::vector<std::int32_t>& ids) const {
    if (file.characters) return encode_characters(text, ids);
    const Pieces pieces = cut(file.pre_tokenizer, std::move(text), at_start);
    std::size_t begin = 0;
    for (const std::size_t end : pieces.ends) {
      std::size_t fault = 0;
      if (!pairs.encode(std::string_view(pieces.text).substr(begin, end - begin), ids, &fault)) {
        refuse(pieces.text, begin + fault);
      }
      begin = end;
    }
  }

  void encode_characters(std::string_view text, std::vector<std::int32_t>& ids) const {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      next_character(text, at);
      const std::int32_t id = names.find(text.substr(begin, at - begin));
      if (id < 0 || special[static_cast<std::size_t>(id)]) refuse(text, begin);
      ids.push_back(id);
    }
  }

  [[noreturn]] static void refuse(std::string_view text, std::size_t at) {
    throw EncodeError(
        "the tokenizer has no token for the character at byte " + std::to_string(at) + " of " + quoted_start(text), at);
  }
};

Tokenizer::Tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json,
                     std::string_view generation_config_json) {
  auto parts = std::make_unique<Parts>(read_tokenizer_file(tokenizer_json));
  const Json config = parse_object(tokenizer_config_json, "tokenizer_config.json");
  parts->bos = named_id(config, "bos_token", parts->names);
  parts->eos = named_id(config, "eos_token", parts->names);
  parts->pad = named_id(config, "pad_token", parts->names);
  parts->end_ids =
      end_ids_of(parts->eos, parse_object(generation_config_json, "generation_config.json"), parts->file.tokens.size());
  parts_ = std::move(parts);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  const TextPart part{std::string(text), false};
  return encode(std::span(&part, 1));
}

std::vector<std::int32_t> Tokenizer::encode(std::span<const TextPart> parts, std::span<const std::string> names) const {
  std::string text;
  ControlRanges control;
  for (const TextPart& part : parts) {
    const std::size_t begin = text.size();
    append_valid_utf8(text, part.text, true);
    if (part.control) control.emplace_back(begin, text.size());
  }
  std::vector<std::int32_t> ids;
  for (const TextSection& section : parts_->added.find(text, control, names)) {
    if (section.id >= 0) {
      ids.push_back(section.id);
      continue;
    }
    std::string between = text.substr(section.begin, section.end - section.begin);
    // Of a text that the normalizer changes no byte can be told where it came from: it is control as a whole, or not.
    ControlRanges inner;
    for (const auto& [begin, end] : control) {
      if (begin <= section.begin && section.end <= end) inner = {{0, ~std::size_t{0}}};
    }
    if (!parts_->file.normalizer.empty()) between = normalized(parts_->file.normalizer, std::move(between));
    const bool at_start = section.begin == 0;
    for (const TextSection& further : parts_->added_normalized.find(between, inner, names)) {
      if (further.id >= 0) {
        ids.push_back(further.id);
      } else {
        parts_->encode_plain(between.substr(further.begin, further.end - further.begin), at_start && further.begin == 0,
                             ids);
      }
    }
  }
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text) const {
  std::vector<std::int32_t> ids = encode(text);
  ids.insert(ids.begin(), parts_->file.before.begin(), parts_->file.before.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  DecodeStream stream = decode_stream();
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary_size()) {
      throw FormatError("no token of the tokenizer has id " + std::to_string(id) + ": it has " +
                        std::to_string(vocabulary_size()));
    }
    text += stream.push(id);
  }
  return text + stream.finish();
}

std::string Tokenizer::decode_response(std::span<const std::int32_t> ids) const {
  const std::vector<std::int32_t>& ends = parts_->end_ids;
  if (!ids.empty() && std::find(ends.begin(), ends.end(), ids.back()) != ends.end()) ids = ids.first(ids.size() - 1);
  return decode(ids);
}

DecodeStream Tokenizer::decode_stream() const { return DecodeStream(parts_->decoder); }

std::int32_t Tokenizer::vocabulary_size() const { return static_cast<std::int32_t>(parts_->file.tokens.size()); }

std::optional<std::int32_t> Tokenizer::id_of(std::string_view name) const {
  const std::int32_t id = parts_->names.find(name);
  return id < 0 ? std::nullopt : std::optional(id);
}

const std::string& Tokenizer::token(std::int32_t id) const { return parts_->file.tokens[static_cast<std::size_t>(id)]; }
bool Tokenizer::is_special(std::int32_t id) const { return parts_->special[static_cast<std::size_t>(id)]; }
std::span<const std::int32_t> Tokenizer::before_prompt() const { return parts_->file.before; }
std::int32_t Tokenizer::bos() const { return parts_->bos; }
std::int32_t Tokenizer::eos() const { return parts_->eos; }
std::int32_t Tokenizer::pad() const { return parts_->pad; }
const std::vector<std::int32_t>& Tokenizer::end_ids() const { return parts_->end_ids; }

Tokenizer read_tokenizer(const std::filesystem::path& folder) {
  const std::string tokenizer = read_text_file(folder / "tokenizer.json", kMaxTokenizerBytes);
  const std::string config = read_text_file(folder / "tokenizer_config.json", kMaxTokenizerBytes);
  const std::filesystem::path generation = folder / "generation_config.json";
  std::error_code error;
  try {
    return Tokenizer(
        tokenizer, config,
        std::filesystem::exists(generation, error) ? read_text_file(generation, kMaxTokenizerBytes) : "{}");
  } catch (const FormatError& fault) {
    throw FormatError(folder.string() + "/" + fault.what());
  }
}

}  // namespace rlflow
