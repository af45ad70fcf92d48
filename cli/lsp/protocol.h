// The words of the protocol as JSON: codes, capabilities, what messages are made of.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/lsp/completion.h"

namespace rlflow::lsp {

// Codes of JSON-RPC and of the protocol.
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602;
inline constexpr int kNotInitialized = -32002, kRequestFailed = -32803;

// Becomes the error response of a request.
struct RequestError : std::runtime_error {
  RequestError(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
  int code;
};

nlohmann::json error_response(const nlohmann::json& id, int code, const std::string& message);
// A notification has no response, so the client's log is told why it was not heeded.
nlohmann::json log_message(const std::string& text);
nlohmann::json server_capabilities();
nlohmann::json markdown(const std::string& text);
int protocol_kind(CompletionKind kind);

// Of `initialize`: the folders that the editor has open; older clients name one as rootUri. Throws RequestError.
std::vector<std::string> folders_of(const nlohmann::json& params);
// Null and what is no whole number count as 0: a client that keeps no versions may say so.
std::int64_t version_of(const nlohmann::json& document);
// The smallest run of text whose replacement turns one text into the other; none where they are equal.
nlohmann::json edits_between(const std::string& from, const std::string& to);

}  // namespace rlflow::lsp
