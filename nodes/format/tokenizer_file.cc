// The vocabulary, the merges, the added tokens and the post-processor of a tokenizer.json.
#include "nodes/format/tokenizer_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nodes/format/byte_alphabet.h"
#include "nodes/format/format_error.h"
#include "nodes/format/tokenizer_json.h"

namespace rlflow {
namespace {

using namespace tokenizer_json;

constexpr std::size_t kMaxTokenBytes = 4096;

std::size_t id_of(const Json& id, const std::string& token, std::size_t limit) {
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= limit) {
    wrong("id " + shown(id) + " of " + json_quoted(token) + " is not one of 0 to " + std::to_string(limit - 1));
  }
  return id.get<std::size_t>();
}

void place(std::vector<std::string>& tokens, std::size_t id, const std::string& token) {
  if (token.empty()) wrong("the token with id " + std::to_string(id) + " is empty");
  if (token.size() > kMaxTokenBytes) wrong("the token with id " + std::to_string(id) + " has more than 4096 bytes");
  if (!tokens[id].empty()) wrong("id " + std::to_string(id) + " is given twice");
  tokens[id] = token;
}

void check_count(std::size_t count) {
  if (count > kMaxVocabulary) wrong("has more than 1048576 tokens");
}

// Tokens of the model's vocabulary, with room for `added` more ids.
std::vector<std::string> read_vocabulary(const Json& model, std::size_t added) {
  const Json& vocab = value_or_null(model, "vocab");
  if (!vocab.is_object() || vocab.empty()) wrong("model vocab is not an object of at least one token");
  check_count(vocab.size() + added);
  std::vector<std::string> tokens(vocab.size() + added);
  for (const auto& [token, id] : vocab.items()) place(tokens, id_of(id, token, tokens.size()), token);
  return tokens;
}

AddedToken read_added(const Json& json) {
  const std::string where = "added_tokens";
  only_keys(json, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}, where);
  AddedToken token;
  token.content = text_at(json, "content", where);
  token.id = static_cast<std::int32_t>(id_of(value_or_null(json, "id"), token.content, kMaxVocabulary));
  token.single_word = flag_at(json, "single_word", std::nullopt, where);
  token.strip_left = flag_at(json, "lstrip", std::nullopt, where);
  token.strip_right = flag_at(json, "rstrip", std::nullopt, where);
  token.normalized = flag_at(json, "normalized", std::nullopt, where);
  token.special = flag_at(json, "special", std::nullopt, where);
  return token;
}

std::vector<AddedToken> read_added_tokens(const Json& list) {
  if (list.is_null()) return {};
  if (!list.is_array()) wrong("added_tokens is not a list");
  check_count(list.size());
  std::vector<AddedToken> tokens;
  std::set<std::string> contents;
  for (const Json& json : list) {
    tokens.push_back(read_added(json));
    if (!contents.insert(tokens.back().content).second) {
      wrong("added token " + json_quoted(tokens.back().content) + " stands twice");
    }
  }
  return tokens;
}

// Puts added tokens beside the model's, under their ids, so that every id is given once.
void join_added(TokenizerFile& file, const TokenTable& vocabulary) {
  for (const AddedToken& token : file.added) {
    const std::string name = "added token " + json_quoted(token.content);
    const std::int32_t known = vocabulary.find(token.content);
    if (known >= 0 && known != token.id) {
      wrong(name + " has id " + std::to_string(token.id) + ", but " + std::to_string(known) + " in the vocabulary");
    }
    if (known >= 0) continue;
    if (static_cast<std::size_t>(token.id) >= file.tokens.size()) {
      wrong(name + " has id " + std::to_string(token.id) + ", which leaves ids without a token");
    }
    place(file.tokens, static_cast<std::size_t>(token.id), token.content);
  }
  while (!file.tokens.empty() && file.tokens.back().empty()) file.tokens.pop_back();
  for (std::size_t id = 0; id < file.tokens.size(); ++id) {
    if (file.tokens[id].empty()) wrong("no token has id " + std::to_string(id));
  }
}

// "a b" or ["a", "b"].
std::pair<std::string, std::string> merge_parts(const Json& merge, std::size_t rank) {
  const std::string place = "model merge " + std::to_string(rank);
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) wrong(place + " is not a pair of texts");
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (!merge.is_string()) wrong(place + " is neither a text nor a pair");
  const std::string text = merge.get<std::string>();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    wrong(place + " " + json_quoted(text) + " is not two tokens with a space between");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

std::vector<PairMerge> read_merges(const Json& list, const TokenTable& vocabulary) {
  if (!list.is_array()) wrong("model merges is not a list");
  std::vector<PairMerge> merges;
  merges.reserve(list.size());
  std::vector<std::uint64_t> pairs;
  for (const Json& json : list) {
    const auto [left, right] = merge_parts(json, merges.size());
    auto token = [&](const std::string& text) {
      const std::int32_t id = vocabulary.find(text);
      if (id < 0) {
        wrong("model merge " + std::to_string(merges.size()) + " names " + json_quoted(text) +
              ", which is not in the vocabulary");
      }
      return id;
    };
    merges.push_back({token(left), token(right), token(left + right)});
    pairs.push_back(static_cast<std::uint64_t>(merges.back().left) << 32 |
                    static_cast<std::uint32_t>(merges.back().right));
  }
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
  if (twice != pairs.end()) {
    wrong("model merges: the pair of ids " + std::to_string(*twice >> 32) + " and " +
          std::to_string(*twice & 0xffffffff) + " stands twice");
  }
  return merges;
}

void refuse_filled(const Json& model, const char* key) {
  const Json& value = value_or_null(model, key);
  if (!value.is_null() && value != "" && value != 0) unsupported("model", std::string(key) + " " + shown(value));
}

void find_byte_tokens(BytePairRules& rules, const TokenTable& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string name = std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
    rules.byte_tokens[byte] = vocabulary.find(name);
    if (rules.byte_tokens[byte] < 0) unsupported("model", "byte_fallback without the token " + json_quoted(name));
  }
}

BytePairRules read_byte_pairs(const Json& model, const std::vector<std::string>& tokens, const TokenTable& vocabulary,
                              bool bytes) {
  only_keys(model,
            {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
             "byte_fallback", "ignore_merges", "vocab", "merges"},
            "model");
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) refuse_filled(model, key);
  BytePairRules rules;
  rules.bytes = bytes;
  rules.fuse_unknown = flag_at(model, "fuse_unk", false, "model");
  rules.whole_first = flag_at(model, "ignore_merges", false, "model");
  rules.byte_fallback = flag_at(model, "byte_fallback", false, "model");
  if (rules.byte_fallback && bytes) unsupported("model", "byte_fallback after ByteLevel");
  if (rules.byte_fallback) find_byte_tokens(rules, vocabulary);
  if (const Json& unknown = value_or_null(model, "unk_token"); !unknown.is_null()) {
    rules.unknown = vocabulary.find(text_at(model, "unk_token", "model"));
    if (rules.unknown < 0) wrong("model unk_token " + shown(unknown) + " is not in the vocabulary");
  }
  rules.merges = read_merges(value_or_null(model, "merges"), vocabulary);
  rules.texts = tokens;
  if (!bytes) return rules;
  for (std::string& text : rules.texts) text = bytes_of_token(text).value_or("");
  return rules;
}

// The Split pattern of a character tokenizer cuts out each special token whole and every other character alone:
// "name|name|…|." in any order, "." last.
void check_characters(const Json& root, const std::vector<AddedToken>& added) {
  const Json& model = value_or_null(root, "model");
  only_keys(model, {"type", "vocab", "unk_token"}, "model");
  const Json& split = value_or_null(root, "pre_tokenizer");
  if (value_or_null(split, "type") != "Split" || value_or_null(split, "behavior") != "Isolated" ||
      value_or_null(split, "invert") != false) {
    unsupported("pre_tokenizer", "with model WordLevel, " + shown(split));
  }
  if (!value_or_null(root, "normalizer").is_null()) unsupported("normalizer", "one with model WordLevel");
  std::set<std::string> special, alternatives;
  for (const AddedToken& token : added) {
    if (!token.special) unsupported("added_tokens", json_quoted(token.content) + ", which is not special,");
    special.insert(token.content);
  }
  const Json& pattern = value_or_null(value_or_null(split, "pattern"), "Regex");
  const std::string text = pattern.is_string() ? pattern.get<std::string>() : "";
  std::size_t begin = 0;
  for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', begin)) {
    alternatives.insert(text.substr(begin, bar - begin));
    begin = bar + 1;
  }
  if (text.substr(begin) != "." || !(alternatives.empty() || alternatives == special)) {
    unsupported("pre_tokenizer", "with model WordLevel, the pattern " + shown(pattern));
  }
}

void check_single_characters(const TokenizerFile& file, const TokenTable& added) {
  for (const std::string& token : file.tokens) {
    std::size_t at = 0;
    next_character(token, at);
    if (at != token.size() && added.find(token) < 0) {
      unsupported("model", "with model WordLevel, the token " + json_quoted(token) + " of several characters");
    }
  }
}

// What TemplateProcessing puts before and after a single text.
void read_template(const Json& json, TokenizerFile& file) {
  const std::string where = "post_processor";
  only_keys(json, {"type", "single", "pair", "special_tokens"}, where);
  const Json& single = value_or_null(json, "single");
  if (!single.is_array()) wrong(where + ": single is not a list");
  int texts = 0;
  for (const Json& part : single) {
    only_keys(part, {"SpecialToken", "Sequence"}, where);
    if (part.contains("Sequence")) {
      ++texts;
      continue;
    }
    const std::string name = text_at(value_or_null(part, "SpecialToken"), "id", where);
    const Json& ids = value_or_null(value_or_null(value_or_null(json, "special_tokens"), name.c_str()), "ids");
    if (!ids.is_array() || ids.empty()) wrong(where + ": special_tokens has no ids of " + json_quoted(name));
    for (const Json& id : ids) {
      (texts == 0 ? file.before : file.after).push_back(static_cast<std::int32_t>(id_of(id, name, file.tokens.size())));
    }
  }
  if (texts != 1) unsupported(where, "a single template without exactly one Sequence");
}

void read_post_processor(const Json& value, TokenizerFile& file) {
  for (const Json* json : steps_of(value, "processors", "post_processor")) {
    const std::string type = type_of(*json, "post_processor");
    if (type == "TemplateProcessing") {
      read_template(*json, file);
    } else if (type != "ByteLevel") {  // which only trims offsets
      unsupported("post_processor", "the type " + json_quoted(type));
    }
  }
}

// A text never becomes a control token: neither whole nor by merges.
void keep_special_apart(const std::vector<AddedToken>& added, BytePairRules& rules) {
  std::set<std::int32_t> special;
  for (const AddedToken& token : added) {
    std::size_t first = 0;
    next_character(token.content, first);
    if (!token.special || first == token.content.size()) continue;
    special.insert(token.id);
    if (static_cast<std::size_t>(token.id) < rules.texts.size()) rules.texts[static_cast<std::size_t>(token.id)] = "";
  }
  for (std::size_t rank = 0; rank < rules.merges.size(); ++rank) {
    if (special.contains(rules.merges[rank].made)) {
      unsupported("model", "merge " + std::to_string(rank) + ", which makes a special token,");
    }
  }
}

bool writes_bytes(const std::vector<PreTokenizerStep>& steps) {
  return !steps.empty() && steps.back().kind == PreTokenizerStep::Kind::byte_level;
}

}  // namespace

TokenizerFile read_tokenizer_file(std::string_view tokenizer_json) {
  const Json root = parse_json(tokenizer_json, "tokenizer.json");
  only_keys(root,
            {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"},
            "top level");
  if (value_or_null(root, "version") != "1.0") unsupported("version", shown(value_or_null(root, "version")));
  for (const char* key : {"truncation", "padding"}) {
    if (!value_or_null(root, key).is_null()) unsupported(key, shown(value_or_null(root, key)));
  }
  const Json& model = value_or_null(root, "model");
  if (!model.is_object()) wrong("has no model");
  const Json& type = value_or_null(model, "type");
  const bool untyped = type.is_null() && model.contains("merges");  // as old files are
  if (type != "BPE" && type != "WordLevel" && !untyped) unsupported("model", "the type " + shown(type));
  TokenizerFile file;
  file.characters = type == "WordLevel";
  file.added = read_added_tokens(value_or_null(root, "added_tokens"));
  file.decoder = read_decoder(value_or_null(root, "decoder"));
  if (file.characters) {
    check_characters(root, file.added);
  } else {
    file.normalizer = read_normalizer(value_or_null(root, "normalizer"));
    file.pre_tokenizer = read_pre_tokenizer(value_or_null(root, "pre_tokenizer"));
    if (writes_bytes(file.pre_tokenizer) != file.decoder.bytes) {
      unsupported("decoder", "ByteLevel in only one of pre_tokenizer and decoder");
    }
  }
  file.tokens = read_vocabulary(model, file.added.size());
  const std::vector<std::string> model_tokens = file.tokens;
  const TokenTable vocabulary(model_tokens);
  join_added(file, vocabulary);
  if (file.characters) {
    std::vector<std::string> names;
    for (const AddedToken& token : file.added) names.push_back(token.content);
    check_single_characters(file, TokenTable(names));
  } else {
    file.pairs = read_byte_pairs(model, model_tokens, vocabulary, file.decoder.bytes);
    keep_special_apart(file.added, file.pairs);
  }
  read_post_processor(value_or_null(root, "post_processor"), file);
  return file;
}

}  // namespace rlflow
