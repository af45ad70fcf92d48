// The settings that stand between a row and its tokens.
#include "nodes/prompt_encoder.h"

#include <algorithm>

namespace rlflow {
namespace {

std::string text_or_empty(const Attributes& settings, const char* name) {
  return has(settings, name) ? text_at(settings, name) : std::string();
}

std::optional<ChatTemplate> template_of(const Attributes& settings, const std::filesystem::path& folder) {
  const std::string name = has(settings, "template") ? text_at(settings, "template") : "none";
  if (name == "none") return std::nullopt;
  if (name == "auto") return read_chat_template(folder);
  if (name == "fixed") return fixed_template(text_or_empty(settings, "prefix"), text_or_empty(settings, "suffix"));
  return chat_template_named(name);
}

// Templates that are only text: what the tokenizer itself puts before a prompt belongs before them.
bool is_only_text(const ChatTemplate& chat) { return chat.markers.empty(); }

}  // namespace

void check_markers(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  for (const std::string& marker : chat.markers) {
    if (tokenizer.id_of(marker)) continue;
    throw FormatError("the template `" + chat.name + "` writes `" + marker +
                      "`, which is no token of this tokenizer; take the template that the model was trained with");
  }
}

std::vector<std::int32_t> conversation_ids(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                           std::span<const ChatMessage> messages, const std::string& prefill) {
  const std::string bos = tokenizer.bos() < 0 ? "" : tokenizer.token(tokenizer.bos());
  std::vector<TextPart> parts = rendered(chat, messages, bos);
  if (!prefill.empty()) parts.push_back({prefill, false});
  std::vector<std::int32_t> ids = tokenizer.encode(parts, chat.markers);
  if (is_only_text(chat)) {
    const auto before = tokenizer.before_prompt();
    ids.insert(ids.begin(), before.begin(), before.end());
  }
  return ids;
}

PromptEncoder::PromptEncoder(const PlanData& data, const std::filesystem::path& folder, const Tokenizer& tokenizer)
    : name_(data.name), tokenizer_(tokenizer), system_(text_or_empty(data.settings, "system")) {
  if (has(data.settings, "max_prompt")) max_prompt_ = int_at(data.settings, "max_prompt");
  const std::string overlong = has(data.settings, "overlong") ? text_at(data.settings, "overlong") : "error";
  overlong_ = overlong == "skip" ? Overlong::skip : overlong == "left" ? Overlong::left : Overlong::error;
  try {
    template_ = template_of(data.settings, folder);
    if (template_) check_markers(*template_, tokenizer_);
  } catch (const FormatError& error) {
    throw FormatError("data `" + name_ + "`: " + error.what());
  }
}

std::vector<std::string> PromptEncoder::warnings() const {
  std::vector<std::string> warnings;
  if (skips()) {
    warnings.push_back("data `" + name_ + "`: prompts of more than " + std::to_string(*max_prompt_) +
                       " tokens are left out (`overlong = skip`); data/skipped counts them");
  }
  if (template_ && !template_->end_of_turn.empty()) {
    const std::vector<std::int32_t>& ends = tokenizer_.end_ids();
    if (std::find(ends.begin(), ends.end(), *tokenizer_.id_of(template_->end_of_turn)) == ends.end()) {
      warnings.push_back("data `" + name_ + "`: the template `" + template_->name + "` ends a turn with `" +
                         template_->end_of_turn +
                         "`, which ends no response of this model: eos_token_id of generation_config.json does not "
                         "name it");
    }
  }
  return warnings;
}

std::vector<std::int32_t> PromptEncoder::ids_of(const DataRow& row) const {
  if (!template_) {
    if (!row.messages.empty()) {
      throw FormatError("the prompt is a conversation, which needs a template: write `template = auto`");
    }
    return tokenizer_.encode_prompt(row.prompt + row.prefill);
  }
  std::vector<ChatMessage> messages = row.messages;
  if (messages.empty()) messages.push_back({"user", row.prompt});
  if (!system_.empty() && messages[0].role != "system") messages.insert(messages.begin(), {"system", system_});
  return conversation_ids(tokenizer_, *template_, messages, row.prefill);
}

std::optional<std::vector<std::int32_t>> PromptEncoder::prompt(const DataRow& row) const {
  std::vector<std::int32_t> ids = ids_of(row);
  const auto count = static_cast<std::int64_t>(ids.size());
  if (!max_prompt_ || count <= *max_prompt_) return ids;
  switch (overlong_) {
    case Overlong::error: break;
    case Overlong::skip: return std::nullopt;
    case Overlong::left: ids.erase(ids.begin(), ids.end() - *max_prompt_); return ids;
  }
  throw FormatError("the prompt has " + std::to_string(count) + " tokens, `max_prompt` is " +
                    std::to_string(*max_prompt_) + "; `overlong = skip` leaves such rows out, `left` keeps the end");
}

std::vector<std::int32_t> PromptEncoder::response(const std::string& text) const {
  std::vector<std::int32_t> ids = tokenizer_.encode(text);
  const bool own = template_ && !template_->end_of_turn.empty();
  const std::int32_t end = own ? *tokenizer_.id_of(template_->end_of_turn) : tokenizer_.eos();
  if (end < 0) throw FormatError("the tokenizer has no end token, so a response could never end");
  ids.push_back(end);
  return ids;
}

}  // namespace rlflow
