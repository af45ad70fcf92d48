// Rendering of conversations.
#include "nodes/format/chat_template.h"

#include <algorithm>

namespace rlflow {
namespace {

// What Python's str.strip() takes: White_Space and the four separators of ASCII.
std::size_t space_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead == ' ' || (lead >= 9 && lead <= 13) || (lead >= 0x1c && lead <= 0x1f)) return 1;
  for (const std::string_view two : {"\xc2\x85", "\xc2\xa0"}) {
    if (text.starts_with(two)) return 2;
  }
  for (const std::string_view three :
       {"\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
    if (text.starts_with(three)) return 3;
  }
  const bool quad = text.size() > 2 && text.starts_with("\xe2\x80") && static_cast<unsigned char>(text[2]) <= 0x8a;
  return quad ? 3 : 0;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && space_length(text) > 0) text.remove_prefix(space_length(text));
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (space_length(text.substr(begin)) != text.size() - begin) break;
    text = text.substr(0, begin);
  }
  return std::string(text);
}

std::string without(std::string_view text, std::string_view set) {
  const std::size_t begin = text.find_first_not_of(set);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(set) - begin + 1));
}

std::string without_start(std::string_view text, std::string_view set) {
  return std::string(text.substr(std::min(text.find_first_not_of(set), text.size())));
}

class Renderer {
 public:
  Renderer(const ChatTemplate& chat, std::span<const ChatMessage> messages) : chat_(chat), messages_(messages) {}

  std::vector<TextPart> run(std::string_view bos) {
    check();
    if (chat_.begins_with_bos) control(std::string(bos));
    std::size_t first = 0;
    std::string system = chat_.default_system;
    const bool own = messages_[0].role == "system";
    if (own) {
      system = messages_[0].content;
      first = 1;
    }
    before_user_ = chat_.system == ChatTemplate::System::before_user && own ? system + "\n\n" : "";
    const bool turn = chat_.system == ChatTemplate::System::turn && (own || !system.empty() || !chat_.dates.empty());
    if (turn) write_turn("system", chat_.dates, chat_.trims ? trimmed(system) : system);
    for (std::size_t i = first; i < messages_.size(); ++i) write(i, i == first);
    open("assistant");
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw FormatError("the template `" + chat_.name + "` " + what);
  }

  void check() const {
    if (messages_.empty()) refuse("needs a message");
    for (const ChatMessage& message : messages_) {
      if (message.role != "system" && message.role != "user" && message.role != "assistant") {
        refuse("knows the roles system, user and assistant, not \"" + message.role + "\"");
      }
    }
    if (messages_.back().role != "user") {
      refuse("needs a user's message at the end; what the assistant has begun to say is `prefill`");
    }
    if (messages_[0].role == "system" && chat_.system == ChatTemplate::System::refused) {
      refuse("has no place for a system message; put it into the prompt");
    }
    if (!chat_.alternates) return;
    const std::size_t first = messages_[0].role == "system" ? 1 : 0;
    for (std::size_t i = first; i < messages_.size(); ++i) {
      if (messages_[i].role != ((i - first) % 2 == 0 ? "user" : "assistant")) {
        refuse("needs messages of user and assistant in turn");
      }
    }
  }

  void control(const std::string& text) { append(text, true); }
  void content(const std::string& text) { append(text, false); }
  void append(const std::string& text, bool is_control) {
    if (text.empty()) return;
    if (!parts_.empty() && parts_.back().control == is_control) {
      parts_.back().text += text;
    } else {
      parts_.push_back({text, is_control});
    }
  }

  void open(const std::string& role) {
    const bool names_role = !chat_.after_role.empty();
    control(chat_.open + (names_role ? role == "assistant" ? chat_.assistant : role : "") + chat_.after_role);
  }

  void write_turn(const std::string& role, const std::string& before, const std::string& text) {
    open(role);
    control(before);
    content(text);
    control(chat_.close);
  }

  void write(std::size_t i, bool first) {
    const ChatMessage& message = messages_[i];
    if (message.role == "assistant" && chat_.forgets_thoughts) return write_answer(i);
    open(message.role);
    if (first) content(before_user_);
    content(chat_.trims ? trimmed(message.content) : message.content);
    control(chat_.close);
  }

  // The last question: a user's message that is no tool's answer.
  std::size_t last_question() const {
    for (std::size_t i = messages_.size(); i-- > 0;) {
      const std::string& text = messages_[i].content;
      const bool tool = text.starts_with("<tool_response>") && text.ends_with("</tool_response>");
      if (messages_[i].role == "user" && !tool) return i;
    }
    return messages_.size() - 1;
  }

  // The assistant's turn of Qwen-3.
  void write_answer(std::size_t i) {
    std::string text = messages_[i].content, thought;
    constexpr std::string_view kEnd = "</think>", kBegin = "<think>";
    if (const std::size_t end = text.find(kEnd); end != std::string::npos) {
      thought = text.substr(0, end);
      thought.erase(thought.find_last_not_of('\n') + 1);
      if (const std::size_t begin = thought.rfind(kBegin); begin != std::string::npos) {
        thought.erase(0, begin + kBegin.size());
      }
      thought = without_start(thought, "\n");
      text = without_start(std::string_view(text).substr(text.rfind(kEnd) + kEnd.size()), "\n");
    }
    open("assistant");
    if (i > last_question() && !thought.empty()) {
      control("<think>\n");
      content(without(thought, "\n"));
      control("\n</think>\n\n");
      text = without_start(text, "\n");
    }
    content(text);
    control(chat_.close);
  }

  const ChatTemplate& chat_;
  std::span<const ChatMessage> messages_;
  std::string before_user_;  // the system message where it has no turn
  std::vector<TextPart> parts_;
};

// Prefix and suffix take one text each, so a conversation is one of them.
std::vector<TextPart> rendered_fixed(const ChatTemplate& chat, std::span<const ChatMessage> messages) {
  if (messages.size() != 1 || messages[0].role != "user") {
    throw FormatError(
        "the template `fixed` writes one user's message between `prefix` and `suffix`; a conversation or a "
        "system message needs a named template");
  }
  return {{chat.open, true}, {messages[0].content, false}, {chat.close, true}};
}

// System message, questions and answers, with an empty line between.
std::vector<TextPart> rendered_plain(std::span<const ChatMessage> messages) {
  std::string text;
  for (const ChatMessage& message : messages) text += (text.empty() ? "" : "\n\n") + message.content;
  return {{text + "\n\n", false}};
}

}  // namespace

ChatTemplate fixed_template(std::string prefix, std::string suffix) {
  ChatTemplate chat;
  chat.name = "fixed";
  chat.open = std::move(prefix);
  chat.close = std::move(suffix);
  return chat;
}

std::vector<TextPart> rendered(const ChatTemplate& chat, std::span<const ChatMessage> messages, std::string_view bos) {
  if (chat.name == "fixed") return rendered_fixed(chat, messages);
  if (chat.begins_with_bos && bos.empty()) {
    throw FormatError("the template `" + chat.name + "` begins with bos, which tokenizer_config.json does not name");
  }
  Renderer renderer(chat, messages);
  std::vector<TextPart> parts = renderer.run(bos);  // checks the conversation
  return chat.name == "plain" ? rendered_plain(messages) : parts;
}

}  // namespace rlflow
