// How the parts of a tokenizer.json are asked for keys: what is not understood is refused by its name.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/json.h"
#include "nodes/format/pre_tokenizer.h"
#include "nodes/format/text_normalizer.h"
#include "nodes/format/token_decoder.h"

namespace rlflow::tokenizer_json {

using Json = nlohmann::json;

// Throw FormatError. `place` is where in the file: "pre_tokenizer".
[[noreturn]] void wrong(const std::string& what);                                  // broken by the format's own rules
[[noreturn]] void unsupported(const std::string& place, const std::string& what);  // may be good, but not known here

std::string shown(const Json& value);  // its text, cut

// `object` is an object and has no key but these.
void only_keys(const Json& object, std::initializer_list<std::string_view> known, const std::string& place);
const Json& value_or_null(const Json& object, const char* key);
std::string text_at(const Json& object, const char* key, const std::string& place);
bool flag_at(const Json& object, const char* key, std::optional<bool> fallback, const std::string& place);
std::string type_of(const Json& object, const std::string& place);

// The parts of a Sequence, `key` of it, or the object alone; nothing for null.
std::vector<const Json*> steps_of(const Json& value, const char* key, const std::string& place);

std::vector<NormalizerStep> read_normalizer(const Json& value);
std::vector<PreTokenizerStep> read_pre_tokenizer(const Json& value);
DecoderRules read_decoder(const Json& value);

}  // namespace rlflow::tokenizer_json
