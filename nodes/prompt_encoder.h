// How rows become token ids: template, system message, prefill and the bound on prompts, as the data's settings say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nodes/data/dataset.h"
#include "nodes/format/chat_template.h"
#include "nodes/format/tokenizer.h"
#include "runtime/contract/plan.h"

namespace rlflow {

// Throws FormatError where the template writes a token that the tokenizer has not.
void check_markers(const ChatTemplate& chat, const Tokenizer& tokenizer);

// What a chat model is asked with: the conversation and the beginning of its answer, which goes on with `prefill`.
// Throws FormatError for a conversation that the template cannot write.
std::vector<std::int32_t> conversation_ids(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                           std::span<const ChatMessage> messages, const std::string& prefill);

// Immutable; any thread may use it. Borrows the tokenizer.
class PromptEncoder {
 public:
  // `folder`: the tokenizer's, whose template `auto` means. Throws FormatError naming the data where the template is
  // unknown, or writes tokens that the tokenizer has not.
  PromptEncoder(const PlanData& data, const std::filesystem::path& folder, const Tokenizer& tokenizer);

  // What the model is asked with, `prefill` included. Nullopt: it is longer than max_prompt and `overlong = skip`; with
  // `left` only its last max_prompt tokens are given. Throws FormatError, also for a longer prompt with `error`.
  std::optional<std::vector<std::int32_t>> prompt(const DataRow& row) const;

  // A response to learn from, with the token that ends a turn. Throws FormatError where there is no such token.
  std::vector<std::int32_t> response(const std::string& text) const;

  bool skips() const { return overlong_ == Overlong::skip && max_prompt_; }
  std::vector<std::string> warnings() const;  // what a person should know

 private:
  enum class Overlong { error, skip, left };

  std::vector<std::int32_t> ids_of(const DataRow& row) const;

  std::string name_;  // of the data
  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> template_;  // nullopt: the text as it is
  std::string system_;
  std::optional<std::int64_t> max_prompt_;
  Overlong overlong_ = Overlong::error;
};

}  // namespace rlflow
