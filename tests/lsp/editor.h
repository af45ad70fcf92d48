// A scripted editor: what the tests of the language server type and ask.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/lsp/server_process.h"

namespace rlflow::testing {

inline constexpr const char* kUri = "file:///nowhere/p.rlflow";

// GRPO on lines of its own; line numbers of the tests count from 0 in it.
extern const std::string kProgram;

// kProgram, which must hold `from` once, with it replaced.
std::string changed(const std::string& from, const std::string& to);

// Speaks the protocol to a process of its own.
class Editor {
 public:
  Editor();  // initialized

  // The response to a request.
  nlohmann::json ask(const std::string& method, nlohmann::json params);
  // A notification; returns when the server has dealt with it.
  void tell(const std::string& method, nlohmann::json params);

  // `|` in the text is the cursor, and is taken out. Opens or reopens the document.
  void open(std::string text, const std::string& uri = kUri);
  void edit(nlohmann::json changes);
  // Asks about the cursor; fails the test on an error response.
  nlohmann::json at_cursor(const std::string& method, nlohmann::json params = nlohmann::json::object());
  std::vector<std::string> labels();  // of the completions at the cursor

  // The last published messages of a document.
  nlohmann::json diagnostics(const std::string& uri = kUri) const;
  std::vector<std::string> codes(const std::string& uri = kUri) const;
  // What the server wrote to the editor's log.
  const std::vector<std::string>& log() const { return log_; }

 private:
  void take(const nlohmann::json& notification);

  ServerProcess server_;
  std::vector<std::string> log_;
  std::map<std::string, nlohmann::json> published_;
  nlohmann::json cursor_ = {{"line", 0}, {"character", 0}};
  std::string uri_ = kUri;
  int id_ = 0;
};

}  // namespace rlflow::testing
