// A tokenizer that can write every text and every template, small enough to be made in a test.
#pragma once

#include <string>

#include "nodes/format/json.h"

namespace rlflow::testing {

using Json = nlohmann::json;

inline const std::string kChatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// One token a byte, with the control tokens of several families: as much as a template can ask for.
inline Json byte_tokenizer() {
  Json vocab, added = Json::array();
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    const std::uint32_t c = itself ? byte : next++;
    const std::string two = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    vocab[c < 0x80 ? std::string(1, static_cast<char>(c)) : two] = byte;
  }
  for (const char* name : {"<bos>", "<eos>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>"}) {
    added.push_back({{"id", 256 + added.size()},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"pre_tokenizer", level},
          {"decoder", level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}},
          {"post_processor", Json::parse(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<bos>",
            "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<bos>": {"ids": [256]}}})")}};
}

}  // namespace rlflow::testing
