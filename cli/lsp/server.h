// What does the language server answer to one message?
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/lsp/workspace.h"
#include "runtime/contract/signature.h"

namespace rlflow::lsp {

// JSON-RPC 2.0 messages in, messages out; no streams, no threads, no clock. It reads files that open programs import
// and writes none. Nothing it is sent makes it throw: a request that cannot be answered gets an error response.
class Server {
 public:
  explicit Server(const Catalog& catalog);  // borrowed

  // The answers to one message, in the order to be sent.
  std::vector<nlohmann::json> handle(const nlohmann::json& message);
  // The same for the text of a message, which may be no JSON at all.
  std::vector<nlohmann::json> handle_text(const std::string& text);

  // Set once the client has said `exit`: 0 after `shutdown`, else 1.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  using Json = nlohmann::json;

  Json result_of(const std::string& method, const Json& params);
  void notice(const std::string& method, const Json& params, std::vector<Json>& out);
  void publish(std::vector<Json>& out);

  Json initialize() const;
  Json hover(const Json& params) const;
  Json completion(const Json& params) const;
  Json definition(const Json& params) const;
  Json references(const Json& params) const;
  Json prepare_rename(const Json& params) const;
  Json rename(const Json& params) const;
  Json formatting(const Json& params) const;
  Json code_action(const Json& params) const;
  Json inlay_hint(const Json& params) const;

  const Document& document_of(const Json& params) const;

  const Catalog& catalog_;
  Workspace workspace_;
  std::map<std::string, Json> published_;  // what the client shows now, by URI
  bool initialized_ = false;
  bool shut_down_ = false;
  std::optional<int> exit_code_;
};

}  // namespace rlflow::lsp
