// The word patterns of the GPT-2, Llama-3 and Qwen-2 tokenizers, matched by hand in one pass over the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rlflow {

enum class WordRule { gpt2, llama3, qwen2 };

// The GPT-2 pattern, which the pre-tokenizer ByteLevel means by `use_regex`.
extern const std::string_view kGpt2Words;

// The rule that a regular expression is, by its exact text; every other pattern is matched by PCRE2.
std::optional<WordRule> word_rule_of(std::string_view pattern);

// Where the word that begins at `begin` < text.size() ends. Each byte belongs to a word; `text` is valid UTF-8. Linear
// in the length of the word, but for white space, whose run is read twice.
std::size_t word_end(WordRule rule, std::string_view text, std::size_t begin);

}  // namespace rlflow
