// One function an object of the protocol.
#include "cli/lsp/protocol.h"

#include <algorithm>

#include "cli/lsp/text_index.h"
#include "cli/lsp/workspace.h"

namespace rlflow::lsp {

using nlohmann::json;

json error_response(const json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

int protocol_kind(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::keyword: return 14;
    case CompletionKind::function: return 3;
    case CompletionKind::name: return 6;
    case CompletionKind::setting: return 10;
    case CompletionKind::word: return 20;
    case CompletionKind::unit: return 11;
    case CompletionKind::type: return 25;
    case CompletionKind::text: return 1;
  }
  return 1;
}

std::vector<std::string> folders_of(const json& params) {
  std::vector<std::string> folders;
  const json listed = params.value("workspaceFolders", json());
  if (!listed.is_null() && !listed.is_array())
    throw RequestError(kInvalidParams, "`workspaceFolders` is a list or null");
  for (const json& folder : listed.is_array() ? listed : json::array()) {
    folders.push_back(path_of_uri(folder.at("uri").get<std::string>()));
  }
  const json root = params.value("rootUri", json());
  if (!root.is_null() && !root.is_string()) throw RequestError(kInvalidParams, "`rootUri` is a string or null");
  if (folders.empty() && root.is_string()) folders.push_back(path_of_uri(root.get<std::string>()));
  return folders;
}

std::int64_t version_of(const json& document) {
  auto found = document.find("version");
  return found != document.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

json log_message(const std::string& text) {
  constexpr int kErrorMessage = 1;
  return {
      {"jsonrpc", "2.0"}, {"method", "window/logMessage"}, {"params", {{"type", kErrorMessage}, {"message", text}}}};
}

json markdown(const std::string& text) { return {{"kind", "markdown"}, {"value", text}}; }

json edits_between(const std::string& from, const std::string& to) {
  if (from == to) return json::array();
  std::size_t shorter = std::min(from.size(), to.size());
  std::size_t head = 0, tail = 0;
  while (head < shorter && from[head] == to[head]) ++head;
  // Whole lines, so that no edit stands inside a character.
  while (head > 0 && from[head - 1] != '\n') --head;
  while (tail < shorter - head && from[from.size() - 1 - tail] == to[to.size() - 1 - tail]) ++tail;
  while (tail > 0 && from[from.size() - tail - 1] != '\n') --tail;
  auto end = static_cast<std::uint32_t>(from.size() - tail);
  return {{{"range", TextIndex(from).range(static_cast<std::uint32_t>(head), end)},
           {"newText", to.substr(head, to.size() - tail - head)}}};
}

json server_capabilities() {
  return {{"positionEncoding", "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", 2}}},  // 2: incremental
          {"hoverProvider", true},
          {"completionProvider", {{"triggerCharacters", {".", "(", "{", "=", ",", "\"", " "}}}},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentFormattingProvider", true},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
          {"inlayHintProvider", true},
          {"documentSymbolProvider", true}};
}

}  // namespace rlflow::lsp
