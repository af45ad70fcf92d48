// How a conversation becomes the text that a chat model was trained on. Templates are known by name and written by this
// code; a model folder's own template is recognised by its text and never evaluated.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/format_error.h"

namespace rlflow {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

// A part of a text: `control` where a template wrote it, so that names of special tokens in it are these tokens.
struct TextPart {
  std::string text;
  bool control = false;
};

struct ChatTemplate {
  std::string name;
  bool begins_with_bos = false;         // the template writes bos itself; no tokenizer adds one after any template
  std::string default_system;           // of a conversation without a system message; empty: none
  std::string open, after_role;         // around the role of a turn
  std::string close;                    // after its content
  std::string end_of_turn;              // the token in `close` that ends a response; empty: the tokenizer's eos
  std::vector<std::string> markers;     // the tokens that it writes; what is content never becomes one of them
  std::string assistant = "assistant";  // the role as written
  bool trims = false;                   // white space off the ends of contents
  bool alternates = false;              // only user, assistant, user, …
  bool forgets_thoughts = false;        // Qwen-3: what `<think>` holds is dropped from turns before the last question
  std::string dates;                    // Llama-3.1: begins the system message, which is always there
  enum class System { turn, before_user, refused } system = System::turn;
};

// Names that `template =` knows: chatml, qwen2_5, qwen3, smollm2, llama3, llama3_1, gemma, gemma3, plain.
const std::vector<std::string>& chat_template_names();
ChatTemplate chat_template_named(std::string_view name);  // one of these

// The one between a prefix and a suffix given in a program.
ChatTemplate fixed_template(std::string prefix, std::string suffix);

// The conversation with the beginning of the assistant's next turn. `bos` is the name of the tokenizer's bos token;
// empty: it has none. Parts are alternately control and content. Throws FormatError for a conversation that the
// template cannot write: without a message, with another role, that does not end with the user's turn.
std::vector<TextPart> rendered(const ChatTemplate& chat, std::span<const ChatMessage> messages, std::string_view bos);

// The name of the template whose text this is, whatever its line ends and the white space around it; a text that
// differs in anything else is unknown: nullopt.
std::optional<std::string> known_template(std::string_view jinja);

// The template of a model folder: chat_template.jinja, or else `chat_template` of tokenizer_config.json. Throws
// FormatError that says how to write one where the folder has none or one that is unknown.
ChatTemplate read_chat_template(const std::filesystem::path& folder);

}  // namespace rlflow
