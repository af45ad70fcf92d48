// Dispatch of JSON-RPC methods.
#include "cli/lsp/server.h"

#include <algorithm>
#include <stdexcept>

#include "cli/lsp/completion.h"
#include "cli/lsp/cursor.h"
#include "cli/lsp/hover.h"
#include "cli/lsp/inlay_hints.h"
#include "cli/lsp/name_index.h"
#include "cli/lsp/protocol.h"
#include "cli/lsp/published.h"
#include "cli/lsp/rename.h"
#include "cli/lsp/symbols.h"
#include "cli/lsp/text_index.h"
#include "compiler/format.h"

namespace rlflow::lsp {
namespace {

using nlohmann::json;

constexpr FileId kProgram{std::int32_t{0}};

std::uint32_t byte_of(const Document& document, const json& position) {
  return TextIndex(document.text).byte(position_of(position));
}

}  // namespace

Server::Server(const Catalog& catalog) : catalog_(catalog), workspace_(catalog) {}

std::vector<json> Server::handle_text(const std::string& text) {
  json message = json::parse(text, nullptr, false);
  if (message.is_discarded()) return {error_response(nullptr, kParseError, "the message is not JSON")};
  return handle(message);
}

std::vector<json> Server::handle(const json& message) {
  if (!message.is_object()) return {error_response(nullptr, kInvalidRequest, "a message is one JSON object")};
  const bool is_request = message.contains("id");
  const json id = message.value("id", json());
  if (!id.is_null() && !id.is_string() && !id.is_number()) {
    return {error_response(nullptr, kInvalidRequest, "an id is a number or a string")};
  }
  if (!message.contains("method") && is_request) return {};  // a response; this server asks nothing
  std::vector<json> out;
  const auto fail = [&](int code, const std::string& text) {
    out.push_back(is_request ? error_response(id, code, text) : log_message(text));
  };
  auto method = message.find("method");
  if (method == message.end() || !method->is_string()) {
    fail(kInvalidRequest, "a message has a `method`, which is a string");
    return out;
  }
  try {
    const json params = message.value("params", json::object());
    if (is_request) {
      out.push_back({{"jsonrpc", "2.0"}, {"id", id}, {"result", result_of(*method, params)}});
    } else {
      notice(*method, params, out);
    }
  } catch (const RequestError& error) {
    fail(error.code, error.what());
  } catch (const std::exception& error) {  // a field is missing, or of another type; the document is not open
    fail(kInvalidParams, method->get<std::string>() + ": " + error.what());
  }
  return out;
}

json Server::result_of(const std::string& method, const json& params) {
  if (shut_down_) throw RequestError(kInvalidRequest, "the server was shut down");
  if (method == "initialize") {
    if (initialized_) throw RequestError(kInvalidRequest, "initialize was sent twice");
    workspace_.set_folders(folders_of(params));
    initialized_ = true;
    return initialize();
  }
  if (!initialized_) throw RequestError(kNotInitialized, "send initialize first");
  if (method == "shutdown") {
    shut_down_ = true;
    return nullptr;
  }
  if (method == "textDocument/hover") return hover(params);
  if (method == "textDocument/completion") return completion(params);
  if (method == "textDocument/definition") return definition(params);
  if (method == "textDocument/references") return references(params);
  if (method == "textDocument/prepareRename") return prepare_rename(params);
  if (method == "textDocument/rename") return rename(params);
  if (method == "textDocument/formatting") return formatting(params);
  if (method == "textDocument/codeAction") return code_action(params);
  if (method == "textDocument/inlayHint") return inlay_hint(params);
  if (method == "textDocument/documentSymbol") return document_symbols(document_of(params));
  throw RequestError(kMethodNotFound, "no method `" + method + "`");
}

void Server::notice(const std::string& method, const json& params, std::vector<json>& out) {
  if (method == "exit") exit_code_ = shut_down_ ? 0 : 1;
  if (!initialized_ || shut_down_) return;
  if (method == "textDocument/didOpen") {
    const json& document = params.at("textDocument");
    workspace_.open(document.at("uri").get<std::string>(), version_of(document),
                    document.at("text").get<std::string>());
  } else if (method == "textDocument/didChange") {
    const json& document = params.at("textDocument");
    workspace_.change(document.at("uri").get<std::string>(), version_of(document), params.at("contentChanges"));
  } else if (method == "textDocument/didClose") {
    workspace_.close(params.at("textDocument").at("uri").get<std::string>());
  } else if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") {
    workspace_.analyze_all();  // a file that some program imports or reads may have changed
  } else {
    return;
  }
  publish(out);
}

// Sends what differs from what the client shows. A file of several programs shows the messages of all, each once.
void Server::publish(std::vector<json>& out) {
  std::map<std::string, json> now;
  for (const auto& [uri, document] : workspace_.documents()) {
    for (const auto& [file, list] : published_diagnostics(workspace_, document)) {
      json& known = now.try_emplace(file, json::array()).first->second;
      for (const json& diagnostic : list) {
        if (std::find(known.begin(), known.end(), diagnostic) == known.end()) known.push_back(diagnostic);
      }
    }
  }
  for (const auto& [uri, list] : published_) now.try_emplace(uri, json::array());
  for (const auto& [uri, list] : now) {
    const Document* open = workspace_.find(uri);
    json params = {{"uri", uri}, {"diagnostics", list}};
    if (open != nullptr) params["version"] = open->version;
    auto shown = published_.find(uri);
    if (shown == published_.end() ? open == nullptr && list.empty() : shown->second == params) continue;
    out.push_back({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", params}});
    published_[uri] = params;
  }
}

json Server::initialize() const {
  return {{"capabilities", server_capabilities()}, {"serverInfo", {{"name", "rlflow"}, {"version", RLFLOW_VERSION}}}};
}

const Document& Server::document_of(const json& params) const {
  const std::string uri = params.at("textDocument").at("uri").get<std::string>();
  const Document* document = workspace_.find(uri);
  if (document == nullptr) throw RequestError(kInvalidParams, "`" + uri + "` is not open");
  return *document;
}

json Server::hover(const json& params) const {
  const Document& document = document_of(params);
  NameIndex names(document.analysis, catalog_);
  Hover found = hover_at(byte_of(document, params.at("position")), document.analysis, names, catalog_);
  if (found.text.empty()) return nullptr;
  return {{"contents", markdown(found.text)}, {"range", TextIndex(document.text).range(found.begin, found.end)}};
}

json Server::completion(const json& params) const {
  const Document& document = document_of(params);
  NameIndex names(document.analysis, catalog_);
  Cursor cursor(document.text, byte_of(document, params.at("position")));
  json range = TextIndex(document.text).range(cursor.word_begin(), cursor.word_end());
  json items = json::array();
  for (const Completion& completion : complete(cursor, document.analysis, names, catalog_)) {
    const std::string& text = completion.insert.empty() ? completion.label : completion.insert;
    json item = {{"label", completion.label},
                 {"kind", protocol_kind(completion.kind)},
                 {"textEdit", {{"range", range}, {"newText", text}}}};
    if (!completion.detail.empty()) item["detail"] = completion.detail;
    if (!completion.doc.empty()) item["documentation"] = markdown(completion.doc);
    items.push_back(std::move(item));
  }
  return {{"isIncomplete", false}, {"items", items}};
}

json Server::definition(const json& params) const {
  const Document& document = document_of(params);
  const Analysis& analysis = document.analysis;
  std::uint32_t byte = byte_of(document, params.at("position"));
  NameIndex names(analysis, catalog_);
  if (const Occurrence* found = names.at(kProgram, byte)) {
    return location_json(workspace_, analysis.sources, names.definition(found->definition).span);
  }
  std::optional<FileId> imported = names.imported_at(analysis, byte);
  return imported ? location_json(workspace_, analysis.sources, {*imported, 0, 0}) : json();
}

json Server::references(const json& params) const {
  const Document& document = document_of(params);
  NameIndex names(document.analysis, catalog_);
  const Occurrence* found = names.at(kProgram, byte_of(document, params.at("position")));
  if (found == nullptr) return json::array();
  bool with_definition = params.value("/context/includeDeclaration"_json_pointer, true);
  return reference_locations(workspace_, document, names, found->definition, with_definition, catalog_);
}

json Server::prepare_rename(const json& params) const {
  const Document& document = document_of(params);
  NameIndex names(document.analysis, catalog_);
  const Occurrence* found = names.at(kProgram, byte_of(document, params.at("position")));
  if (found == nullptr) return nullptr;
  return {{"range", TextIndex(document.text).range(found->span.begin, found->span.end)},
          {"placeholder", names.definition(found->definition).name}};
}

json Server::rename(const json& params) const {
  const Document& document = document_of(params);
  const std::string name = params.at("newName").get<std::string>();
  NameIndex names(document.analysis, catalog_);
  const Occurrence* found = names.at(kProgram, byte_of(document, params.at("position")));
  if (found == nullptr) throw RequestError(kRequestFailed, "no name of the program stands here");
  RenameResult result = lsp::rename(workspace_, document, names, found->definition, name, catalog_);
  if (result.refusal) throw RequestError(kRequestFailed, *result.refusal);
  return {{"changes", result.changes}};
}

json Server::formatting(const json& params) const {
  const Document& document = document_of(params);
  std::optional<std::string> formatted = format_source(document.text);
  return formatted ? edits_between(document.text, *formatted) : json();
}

json Server::code_action(const json& params) const {
  const Document& document = document_of(params);
  const json& range = params.at("range");
  const json only = params.value("/context/only"_json_pointer, json());
  bool wanted = !only.is_array() || std::find(only.begin(), only.end(), json("quickfix")) != only.end() ||
                std::find(only.begin(), only.end(), json("")) != only.end();
  if (!wanted) return json::array();
  return code_actions(workspace_, document, byte_of(document, range.at("start")), byte_of(document, range.at("end")));
}

json Server::inlay_hint(const json& params) const {
  const Document& document = document_of(params);
  TextIndex index(document.text);
  std::uint32_t begin = byte_of(document, params.at("range").at("start"));
  std::uint32_t end = byte_of(document, params.at("range").at("end"));
  json hints = json::array();
  for (const InlayHint& hint : inlay_hints(document.analysis)) {
    if (hint.byte < begin || hint.byte > end) continue;
    EditorPosition at = index.position(hint.byte);
    hints.push_back(
        {{"position", {{"line", at.line}, {"character", at.character}}}, {"label", hint.label}, {"kind", 1}});
  }
  return hints;
}

}  // namespace rlflow::lsp
