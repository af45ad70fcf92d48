// How text becomes token ids and back, as a model folder's tokenizer.json says.
#include "nodes/format/tokenizer.h"

#include <array>
#include <set>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxVocabulary = 1u << 20;

[[noreturn]] void refuse(const std::string& what) {
  throw FormatError("tokenizer.json: " + what +
                    " is not supported; only character tokenizers are (model WordLevel, "
                    "pre_tokenizer Split that isolates each character)");
}

void only_keys(const Json& object, const std::set<std::string>& known, const std::string& place) {
  if (!object.is_object()) throw FormatError("tokenizer.json: " + place + " is not an object");
  for (const auto& item : object.items()) {
    if (!known.contains(item.key())) refuse(place + " key " + json_quoted(item.key()));
  }
}

Json value_or_null(const Json& object, const char* key) { return object.contains(key) ? object[key] : Json(); }

void check_null(const Json& root, const char* key) {
  if (!value_or_null(root, key).is_null()) refuse(std::string(key) + " " + root[key].dump().substr(0, 80));
}

std::size_t character_length(std::string_view text, std::size_t at) {
  auto lead = static_cast<unsigned char>(text[at]);
  std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(length, text.size() - at);
}

std::vector<std::string> read_vocabulary(const Json& model) {
  only_keys(model, {"type", "vocab", "unk_token"}, "model");
  if (value_or_null(model, "type") != "WordLevel") refuse("model type " + value_or_null(model, "type").dump());
  const Json vocab = value_or_null(model, "vocab");
  if (!vocab.is_object() || vocab.empty() || vocab.size() > kMaxVocabulary) {
    throw FormatError("tokenizer.json: model vocab is not an object of 1 to 1048576 tokens");
  }
  std::vector<std::string> tokens(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size()) {
      throw FormatError("tokenizer.json: id of " + json_quoted(token) + " is not one of 0 to size-1");
    }
    std::string& place = tokens[id.get<std::size_t>()];
    if (token.empty() || !place.empty()) throw FormatError("tokenizer.json: id " + id.dump() + " is given twice");
    place = token;
  }
  return tokens;
}

std::set<std::string> read_special(const Json& root, const std::vector<std::string>& tokens) {
  std::set<std::string> special;
  for (const Json& added : value_or_null(root, "added_tokens")) {
    only_keys(added, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}, "added_tokens");
    const Json content = value_or_null(added, "content"), id = value_or_null(added, "id");
    if (value_or_null(added, "special") != true) refuse("added token " + content.dump() + " that is not special");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size() ||
        content != tokens[id.get<std::size_t>()]) {
      throw FormatError("tokenizer.json: added token " + content.dump() + " is not in the vocabulary under its id");
    }
    special.insert(content.get<std::string>());
  }
  return special;
}

// The Split pattern must cut out each special token whole and every other character alone:
// "name|name|…|." in any order, "." last.
void check_pattern(const Json& pre_tokenizer, const std::set<std::string>& special) {
  only_keys(pre_tokenizer, {"type", "pattern", "behavior", "invert"}, "pre_tokenizer");
  if (value_or_null(pre_tokenizer, "type") != "Split" || value_or_null(pre_tokenizer, "behavior") != "Isolated" ||
      value_or_null(pre_tokenizer, "invert") != false) {
    refuse("pre_tokenizer " + pre_tokenizer.dump().substr(0, 120));
  }
  const Json pattern = value_or_null(value_or_null(pre_tokenizer, "pattern"), "Regex");
  std::string text = pattern.is_string() ? pattern.get<std::string>() : "";
  std::set<std::string> alternatives;
  std::size_t begin = 0;
  for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', begin)) {
    alternatives.insert(text.substr(begin, bar - begin));
    begin = bar + 1;
  }
  if (text.substr(begin) != "." || !(alternatives.empty() || alternatives == special)) {
    refuse("pre_tokenizer pattern " + value_or_null(pre_tokenizer, "pattern").dump().substr(0, 120));
  }
}

// Only the template that adds nothing: the sequence as it is.
void check_post_processor(const Json& processor) {
  if (processor.is_null()) return;
  if (value_or_null(processor, "type") != "TemplateProcessing" || !value_or_null(processor, "special_tokens").empty()) {
    refuse("post_processor " + processor.dump().substr(0, 120));
  }
}

// "bos_token" of tokenizer_config.json: a string, or an object with `content`.
std::int32_t special_id(const Json& config, const char* key, const std::vector<std::string>& tokens) {
  Json token = value_or_null(config, key);
  if (token.is_object()) token = value_or_null(token, "content");
  if (token.is_null()) return -1;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (token == tokens[id]) return static_cast<std::int32_t>(id);
  }
  throw FormatError(std::string("tokenizer_config.json: ") + key + " " + token.dump() + " is not in the vocabulary");
}

}  // namespace

Tokenizer::Tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json) {
  const Json root = parse_json(tokenizer_json, "tokenizer.json");
  only_keys(root,
            {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"},
            "top level");
  if (value_or_null(root, "version") != "1.0") refuse("version " + value_or_null(root, "version").dump());
  for (const char* key : {"truncation", "padding", "normalizer"}) check_null(root, key);
  if (!root.contains("model")) throw FormatError("tokenizer.json: has no model");
  tokens_ = read_vocabulary(root["model"]);
  std::set<std::string> special = read_special(root, tokens_);
  check_pattern(value_or_null(root, "pre_tokenizer"), special);
  check_post_processor(value_or_null(root, "post_processor"));
  if (value_or_null(value_or_null(root, "decoder"), "type") != "Fuse") refuse("decoder other than Fuse");
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    const std::string& token = tokens_[id];
    if (special.contains(token)) continue;
    if (character_length(token, 0) != token.size()) refuse("token " + json_quoted(token) + " of several characters");
    characters_[token] = static_cast<std::int32_t>(id);
  }
  const Json config = parse_json(tokenizer_config_json, "tokenizer_config.json");
  if (!config.is_object()) throw FormatError("tokenizer_config.json: is not an object");
  bos_ = special_id(config, "bos_token", tokens_);
  eos_ = special_id(config, "eos_token", tokens_);
  pad_ = special_id(config, "pad_token", tokens_);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::string_view character = text.substr(at, character_length(text, at));
    auto found = characters_.find(character);
    if (found == characters_.end()) {
      throw EncodeError("the tokenizer has no token for the character at byte " + std::to_string(at) + " of " +
                            Json(std::string(text.substr(0, 80))).dump(-1, ' ', true, Json::error_handler_t::replace),
                        at);
    }
    ids.push_back(found->second);
    at += character.size();
  }
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text) const {
  std::vector<std::int32_t> ids = encode(text);
  if (bos_ >= 0) ids.insert(ids.begin(), bos_);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) {
    RLFLOW_CHECK(id >= 0 && id < vocabulary_size(), std::to_string(id));
    text += tokens_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string Tokenizer::decode_response(std::span<const std::int32_t> ids) const {
  if (!ids.empty() && ids.back() == eos_) ids = ids.first(ids.size() - 1);
  return decode(ids);
}

Tokenizer read_tokenizer(const std::filesystem::path& folder) {
  std::string tokenizer = read_text_file(folder / "tokenizer.json", kMaxTokenizerBytes);
  std::string config = read_text_file(folder / "tokenizer_config.json", kMaxTokenizerBytes);
  try {
    return Tokenizer(tokenizer, config);
  } catch (const FormatError& error) {
    throw FormatError(folder.string() + "/" + error.what());
  }
}

}  // namespace rlflow
