// `rlflow lsp`: a language server on the standard streams, until the editor says `exit` or closes them.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/lsp/framing.h"
#include "cli/lsp/server.h"
#include "cli/verb.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

// Texts of files that are not UTF-8 may stand in messages.
std::string text_of(const nlohmann::json& message) {
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ExitCode serve() {
  const Catalog known = catalog();
  lsp::Server server(known);
  try {
    while (!server.exit_code()) {
      std::optional<std::string> message = lsp::read_message(std::cin);
      if (!message) return ExitCode::no;  // the editor is gone
      for (const nlohmann::json& answer : server.handle_text(*message)) lsp::write_message(std::cout, text_of(answer));
    }
  } catch (const lsp::FramingError& error) {
    std::cerr << "rlflow lsp: " << error.what() << "\n"
              << "  = help: this verb is started by an editor; it reads `Content-Length: N`, an empty line, N bytes\n";
    return ExitCode::could_not_answer;
  }
  return *server.exit_code() == 0 ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_lsp(CLI::App& app, const Session&) {
  app.add_flag("--stdio")->description("use the standard streams, as always; editors like to say it");
  return serve;
}

}  // namespace rlflow
