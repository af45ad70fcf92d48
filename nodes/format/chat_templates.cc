// The templates that have a name, and by which texts they are recognised.
#include <algorithm>
#include <array>

#include "nodes/format/chat_template.h"
#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "runtime/contract/check.h"
#include "runtime/contract/digest.h"

namespace rlflow {
namespace {

constexpr std::uint64_t kMaxTemplateBytes = 1u << 20;

ChatTemplate chatml(std::string name, std::string default_system) {
  ChatTemplate chat;
  chat.name = std::move(name);
  chat.default_system = std::move(default_system);
  chat.open = "<|im_start|>";
  chat.after_role = "\n";
  chat.close = "<|im_end|>\n";
  chat.end_of_turn = "<|im_end|>";
  chat.markers = {"<|im_start|>", "<|im_end|>"};
  return chat;
}

ChatTemplate llama3(std::string name, std::string dates) {
  ChatTemplate chat;
  chat.name = std::move(name);
  chat.begins_with_bos = true;
  chat.open = "<|start_header_id|>";
  chat.after_role = "<|end_header_id|>\n\n";
  chat.close = chat.end_of_turn = "<|eot_id|>";
  chat.markers = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
  chat.trims = true;
  chat.dates = std::move(dates);
  return chat;
}

ChatTemplate gemma(std::string name, ChatTemplate::System system) {
  ChatTemplate chat;
  chat.name = std::move(name);
  chat.begins_with_bos = true;
  chat.open = "<start_of_turn>";
  chat.after_role = "\n";
  chat.close = "<end_of_turn>\n";
  chat.end_of_turn = "<end_of_turn>";
  chat.markers = {"<start_of_turn>", "<end_of_turn>"};
  chat.assistant = "model";
  chat.trims = true;
  chat.alternates = true;
  chat.system = system;
  return chat;
}

std::vector<ChatTemplate> make_templates() {
  std::vector<ChatTemplate> all;
  all.push_back(chatml("chatml", ""));
  all.push_back(chatml("qwen2_5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."));
  all.push_back(chatml("qwen3", ""));
  all.back().forgets_thoughts = true;
  all.push_back(chatml("smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"));
  all.push_back(llama3("llama3", ""));
  // The day that the template itself writes where it is told none; never today's, which would change the prompt.
  all.push_back(llama3("llama3_1", "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"));
  all.push_back(gemma("gemma", ChatTemplate::System::refused));
  all.push_back(gemma("gemma3", ChatTemplate::System::before_user));
  all.emplace_back();
  all.back().name = "plain";
  return all;
}

const std::vector<ChatTemplate>& templates() {
  static const std::vector<ChatTemplate> kTemplates = make_templates();
  return kTemplates;
}

struct KnownText {
  const char* sha256;  // of the text as known_template() has it
  const char* name;
};

// As the model makers published them; tests/oracle/chat_template_parity.py names where each text comes from.
constexpr std::array<KnownText, 10> kKnown = {{
    {"fcf7a096fe99a48fd9ad2b250bf9237e96e8f48bffec1c7ea4d3f225176cd40e", "chatml"},
    {"64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326", "chatml"},  // Qwen3-Instruct-2507
    {"55b2f4a26ac9ee719330a61a0c39d9e538b0e9322212f048326318cff4f8674a", "qwen2_5"},
    {"a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8", "qwen3"},
    {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", "smollm2"},
    {"ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122", "llama3"},
    {"93c0e9aa3629bbd77e68dbc0f5621f6e6b23aa8d74b932595cdb8d64684526d7", "llama3_1"},
    {"d82792f95932f1c9cef5c4bd992f171225e3bf8c7b609b4557c9e1ec96be819f", "llama3_1"},  // Llama-3.2
    {"ecd6ae513fe103f0eb62e8ab5bfa8d0fe45c1074fa398b089c93a7e70c15cfd6", "gemma"},
    {"8d9e3a3c114fb2053ec500184677af4f7e5f8ec2582443cd535834e68b3ade29", "gemma3"},
}};

// `chat_template` of tokenizer_config.json: a text, or a list of {name, template} with one called default.
std::string template_text(const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / "chat_template.jinja";
  std::error_code error;
  if (std::filesystem::exists(own, error)) return read_text_file(own, kMaxTemplateBytes);
  const std::filesystem::path file = folder / "tokenizer_config.json";
  const nlohmann::json config = parse_json(read_text_file(file, kMaxTemplateBytes * 64), file.string());
  if (!config.is_object() || !config.contains("chat_template")) return "";
  const nlohmann::json& value = config["chat_template"];
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  for (const nlohmann::json& entry : value) {
    if (entry.is_object() && entry.value("name", nlohmann::json()) == "default" && entry.contains("template") &&
        entry["template"].is_string()) {
      return entry["template"].get<std::string>();
    }
  }
  return "";
}

// What may be meant by a text with these markers.
std::string advice(std::string_view text) {
  std::string names;
  for (const ChatTemplate& chat : templates()) {
    if (chat.open.empty() || text.find(chat.open) == std::string_view::npos) continue;
    names += (names.empty() ? "" : ", ") + ("`" + chat.name + "`");
  }
  const std::string fixed =
      "`template = fixed, prefix = \"…\", suffix = \"…\"` writes the prompt between two texts of yours";
  if (names.empty()) return fixed;
  return "its turns begin as those of " + names + ": name one with `template = …` if it writes the same; or " + fixed;
}

}  // namespace

const std::vector<std::string>& chat_template_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const ChatTemplate& chat : templates()) names.push_back(chat.name);
    return names;
  }();
  return kNames;
}

ChatTemplate chat_template_named(std::string_view name) {
  for (const ChatTemplate& chat : templates()) {
    if (chat.name == name) return chat;
  }
  RLFLOW_CHECK(false, "no chat template `" + std::string(name) + "`");
  return {};
}

std::optional<std::string> known_template(std::string_view jinja) {
  std::string text;
  for (const char c : jinja) {
    if (c == '\n' && text.ends_with('\r')) text.pop_back();
    text += c;
  }
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return std::nullopt;
  const std::string digest =
      hex(sha256(std::string_view(text).substr(begin, text.find_last_not_of(kSpace) - begin + 1)));
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownText& known) { return digest == known.sha256; });
  return found == kKnown.end() ? std::nullopt : std::optional<std::string>(found->name);
}

ChatTemplate read_chat_template(const std::filesystem::path& folder) {
  const std::string text = template_text(folder);
  if (const auto name = known_template(text)) return chat_template_named(*name);
  if (text.empty()) {
    throw FormatError(folder.string() +
                      ": has no chat template, neither chat_template.jinja nor in tokenizer_config.json; " +
                      advice(""));
  }
  throw FormatError(folder.string() +
                    ": its chat template is none that this version knows, and templates are never "
                    "executed; " +
                    advice(text));
}

}  // namespace rlflow
