// Normalizer, pre-tokenizer and decoder of a tokenizer.json.
#include "nodes/format/tokenizer_json.h"

#include <algorithm>

#include "nodes/format/format_error.h"
#include "nodes/format/word_pattern.h"

namespace rlflow::tokenizer_json {

void wrong(const std::string& what) { throw FormatError("tokenizer.json: " + what); }

void unsupported(const std::string& place, const std::string& what) {
  throw FormatError("tokenizer.json: " + place + ": " + what +
                    " is not supported; byte-pair tokenizers of the GPT-2, Llama, Qwen and Gemma families are, and "
                    "character tokenizers (docs/models.md)");
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 120 ? text : text.substr(0, 117) + "...";
}

void only_keys(const Json& object, std::initializer_list<std::string_view> known, const std::string& place) {
  if (!object.is_object()) wrong(place + " is not an object");
  for (const auto& item : object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      unsupported(place, "the key " + json_quoted(item.key()));
    }
  }
}

const Json& value_or_null(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNull;
}

std::string text_at(const Json& object, const char* key, const std::string& place) {
  const Json& value = value_or_null(object, key);
  if (!value.is_string()) wrong(place + ": " + key + " is not a text");
  return value.get<std::string>();
}

bool flag_at(const Json& object, const char* key, std::optional<bool> fallback, const std::string& place) {
  const Json& value = value_or_null(object, key);
  if (value.is_null() && fallback) return *fallback;
  if (!value.is_boolean()) wrong(place + ": " + key + " is not true or false");
  return value.get<bool>();
}

std::string type_of(const Json& object, const std::string& place) {
  if (!object.is_object()) wrong(place + " is not an object");
  return text_at(object, "type", place);
}

std::vector<const Json*> steps_of(const Json& value, const char* key, const std::string& place) {
  if (value.is_null()) return {};
  if (type_of(value, place) != "Sequence") return {&value};
  only_keys(value, {"type", key}, place);
  const Json& list = value_or_null(value, key);
  if (!list.is_array()) wrong(place + ": " + key + " is not a list");
  std::vector<const Json*> steps;
  for (const Json& step : list) {
    for (const Json* inner : steps_of(step, key, place)) steps.push_back(inner);
  }
  return steps;
}

namespace {

// {"String": "…"}, the only form here; not empty.
std::string literal_of(const Json& object, const std::string& place) {
  const Json& pattern = value_or_null(object, "pattern");
  if (!pattern.is_object() || !pattern.contains("String")) unsupported(place, "the pattern " + shown(pattern));
  only_keys(pattern, {"String"}, place);
  std::string text = text_at(pattern, "String", place);
  if (text.empty()) unsupported(place, "an empty pattern");
  return text;
}

NormalizerStep normalizer_step(const Json& json) {
  const std::string place = "normalizer", type = type_of(json, place);
  using Kind = NormalizerStep::Kind;
  NormalizerStep step;
  for (const auto& [name, form] : {std::pair{"NFC", NormalForm::nfc}, std::pair{"NFD", NormalForm::nfd},
                                   std::pair{"NFKC", NormalForm::nfkc}, std::pair{"NFKD", NormalForm::nfkd}}) {
    if (type != name) continue;
    only_keys(json, {"type"}, place);
    step.form = form;
    return step;
  }
  if (type == "Lowercase") {
    only_keys(json, {"type"}, place);
    step.kind = Kind::lowercase;
  } else if (type == "Strip") {
    only_keys(json, {"type", "strip_left", "strip_right"}, place);
    step.kind = Kind::strip;
    step.left = flag_at(json, "strip_left", std::nullopt, place);
    step.right = flag_at(json, "strip_right", std::nullopt, place);
  } else if (type == "Replace") {
    only_keys(json, {"type", "pattern", "content"}, place);
    step.kind = Kind::replace;
    step.pattern = literal_of(json, place);
    step.content = text_at(json, "content", place);
  } else if (type == "Prepend") {
    only_keys(json, {"type", "prepend"}, place);
    step.kind = Kind::prepend;
    step.content = text_at(json, "prepend", place);
  } else {
    unsupported(place, "the type " + json_quoted(type));
  }
  return step;
}

SplitBehavior behavior_of(const Json& json, const std::string& place) {
  const std::string name = text_at(json, "behavior", place);
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  unsupported(place, "the behavior " + json_quoted(name));
}

PreTokenizerStep split_step(const Json& json, const std::string& place) {
  only_keys(json, {"type", "pattern", "behavior", "invert"}, place);
  PreTokenizerStep step;
  step.behavior = behavior_of(json, place);
  step.invert = flag_at(json, "invert", false, place);
  const Json& pattern = value_or_null(json, "pattern");
  if (!pattern.is_object() || !pattern.contains("Regex")) {
    step.literal = literal_of(json, place);
    return step;
  }
  only_keys(pattern, {"Regex"}, place);
  const std::string text = text_at(pattern, "Regex", place);
  if (text.empty() || text.size() > 4096) unsupported(place, "a pattern of " + std::to_string(text.size()) + " bytes");
  step.words = word_rule_of(text);
  try {
    if (!step.words) step.pattern = std::make_shared<const Pattern>(pcre2_word_pattern(text));
  } catch (const FormatError& error) {
    wrong(place + ": " + error.what());
  }
  return step;
}

PreTokenizerStep metaspace_step(const Json& json, const std::string& place) {
  only_keys(json, {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}, place);
  PreTokenizerStep step;
  step.kind = PreTokenizerStep::Kind::metaspace;
  step.replacement = text_at(json, "replacement", place);
  if (step.replacement.empty()) wrong(place + ": replacement is empty");
  step.split_at_space = flag_at(json, "split", true, place);
  const Json& scheme = value_or_null(json, "prepend_scheme");
  const std::string name = scheme.is_null() ? flag_at(json, "add_prefix_space", true, place) ? "always" : "never"
                                            : text_at(json, "prepend_scheme", place);
  if (name == "always") {
    step.prefix = PreTokenizerStep::Prefix::always;
  } else if (name == "first") {
    step.prefix = PreTokenizerStep::Prefix::first;
  } else if (name != "never") {
    unsupported(place, "the prepend_scheme " + json_quoted(name));
  }
  return step;
}

PreTokenizerStep pre_tokenizer_step(const Json& json) {
  const std::string place = "pre_tokenizer", type = type_of(json, place);
  PreTokenizerStep step;
  if (type == "Split") return split_step(json, place);
  if (type == "Metaspace") return metaspace_step(json, place);
  if (type == "Digits") {
    only_keys(json, {"type", "individual_digits"}, place);
    step.kind = PreTokenizerStep::Kind::digits;
    step.individual = flag_at(json, "individual_digits", false, place);
  } else if (type == "ByteLevel") {
    only_keys(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, place);
    step.kind = PreTokenizerStep::Kind::byte_level;
    step.prefix_space = flag_at(json, "add_prefix_space", std::nullopt, place);
    if (flag_at(json, "use_regex", true, place)) step.words = WordRule::gpt2;
  } else {
    unsupported(place, "the type " + json_quoted(type));
  }
  return step;
}

// Reads one step of a decoder into `rules`; `fused`: after Fuse, all tokens are one text.
void decoder_step(const Json& json, DecoderRules& rules, bool& fused) {
  const std::string place = "decoder", type = type_of(json, place);
  const bool late = fused || rules.byte_fallback || rules.bytes || !rules.strip.empty();
  if (type == "Fuse") {
    only_keys(json, {"type"}, place);
    fused = true;
  } else if (type == "ByteFallback" && !late) {
    only_keys(json, {"type"}, place);
    rules.byte_fallback = true;
  } else if (type == "ByteLevel" && !late && rules.replaces.empty() && rules.metaspace.empty()) {
    only_keys(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, place);
    rules.bytes = true;
  } else if (type == "Replace" && !late && rules.metaspace.empty()) {
    only_keys(json, {"type", "pattern", "content"}, place);
    rules.replaces.push_back({literal_of(json, place), text_at(json, "content", place)});
  } else if (type == "Metaspace" && !late && rules.metaspace.empty()) {
    const PreTokenizerStep step = metaspace_step(json, place);
    rules.metaspace = step.replacement;
    rules.metaspace_prefix = step.prefix != PreTokenizerStep::Prefix::never;
  } else if (type == "Strip" && rules.strip.empty() && !rules.bytes && (fused || !rules.byte_fallback)) {
    only_keys(json, {"type", "content", "start", "stop"}, place);
    rules.strip = text_at(json, "content", place);
    const Json &start = value_or_null(json, "start"), &stop = value_or_null(json, "stop");
    if (rules.strip.empty() || !start.is_number_unsigned() || start.get<std::uint64_t>() > 1000) {
      wrong(place + ": the step " + shown(json));
    }
    if (stop != 0) unsupported(place, "Strip at the end of tokens");
    rules.strip_start = start.get<std::size_t>();
    rules.strip_each = !fused;
  } else {
    unsupported(place, "the step " + shown(json) + " at this place");
  }
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const Json& value) {
  std::vector<NormalizerStep> steps;
  for (const Json* json : steps_of(value, "normalizers", "normalizer")) steps.push_back(normalizer_step(*json));
  return steps;
}

std::vector<PreTokenizerStep> read_pre_tokenizer(const Json& value) {
  std::vector<PreTokenizerStep> steps;
  for (const Json* json : steps_of(value, "pretokenizers", "pre_tokenizer")) {
    if (!steps.empty() && (steps.back().kind == PreTokenizerStep::Kind::byte_level ||
                           steps.back().kind == PreTokenizerStep::Kind::metaspace)) {
      unsupported("pre_tokenizer", "a step after ByteLevel or Metaspace");
    }
    steps.push_back(pre_tokenizer_step(*json));
  }
  return steps;
}

DecoderRules read_decoder(const Json& value) {
  if (value.is_null()) unsupported("decoder", "none");
  DecoderRules rules;
  bool fused = false;
  for (const Json* json : steps_of(value, "decoders", "decoder")) decoder_step(*json, rules, fused);
  return rules;
}

}  // namespace rlflow::tokenizer_json
