// Does the process keep the life cycle and the error codes of the protocol, whatever it is sent?
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/lsp/editor.h"
#include "tests/support/process.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602;
constexpr int kNotInitialized = -32002;

int error_code(const json& answer) { return answer.at("error").at("code").get<int>(); }

class Protocol : public ::testing::Test {
 protected:
  json request(const std::string& method, json params = json::object()) {
    return answer_to(json({{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}}).dump());
  }
  void notify(const std::string& method, json params = json::object()) {
    server_.send(json({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}).dump());
  }
  json answer_to(const std::string& text) {
    server_.send(text);
    return server_.receive();
  }
  ServerProcess server_;
};

TEST_F(Protocol, InitializeSaysWhatItCan) {
  json answer = request("initialize");
  EXPECT_EQ(answer["id"], 7);
  const json& can = answer["result"]["capabilities"];
  EXPECT_EQ(can["positionEncoding"], "utf-16");
  EXPECT_EQ(can["textDocumentSync"]["change"], 2);
  for (const char* provider :
       {"hoverProvider", "completionProvider", "definitionProvider", "referencesProvider", "renameProvider",
        "documentFormattingProvider", "codeActionProvider", "inlayHintProvider", "documentSymbolProvider"}) {
    EXPECT_TRUE(can.contains(provider)) << provider;
  }
  EXPECT_EQ(error_code(request("initialize")), kInvalidRequest);
}

// Nothing is guessed from folders that are none; a right request still is the first.
TEST_F(Protocol, FoldersOfAnotherTypeAreRefused) {
  for (const json& folders : {json(3), json("a"), json({{"uri", "file:///a"}}), json({3}), json({{{"name", "a"}}})}) {
    EXPECT_EQ(error_code(request("initialize", {{"workspaceFolders", folders}})), kInvalidParams) << folders;
  }
  EXPECT_EQ(error_code(request("initialize", {{"rootUri", 3}})), kInvalidParams);
  EXPECT_TRUE(request("initialize", {{"workspaceFolders", nullptr}, {"rootUri", nullptr}}).contains("result"));
}

TEST_F(Protocol, NothingBeforeInitialize) {
  EXPECT_EQ(error_code(request("textDocument/hover")), kNotInitialized);
  notify("textDocument/didOpen");  // dropped without an answer: the next one is that of the request
  EXPECT_EQ(request("initialize")["id"], 7);
}

TEST_F(Protocol, ExitAfterShutdownIsZero) {
  request("initialize");
  EXPECT_EQ(request("shutdown")["result"], nullptr);
  EXPECT_EQ(error_code(request("textDocument/hover")), kInvalidRequest);
  notify("exit");
  EXPECT_EQ(server_.end(), 0);
}

TEST_F(Protocol, ExitWithoutShutdownIsOne) {
  request("initialize");
  notify("exit");
  EXPECT_EQ(server_.end(), 1);
}

TEST_F(Protocol, AnEditorThatIsGoneEndsIt) {
  request("initialize");
  EXPECT_EQ(server_.end(), 1);
}

TEST_F(Protocol, WrongMessagesGetErrors) {
  EXPECT_EQ(error_code(answer_to("{")), kParseError);
  EXPECT_EQ(error_code(answer_to("")), kParseError);
  EXPECT_EQ(error_code(answer_to("\"\xFF\"")), kParseError);
  EXPECT_EQ(error_code(answer_to("[]")), kInvalidRequest);
  EXPECT_EQ(error_code(answer_to("3")), kInvalidRequest);
  EXPECT_EQ(error_code(answer_to(R"({"id":1,"method":3})")), kInvalidRequest);
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(error_code(answer_to("{\"method\":\"x\",\"id\":" + deep + "}")), kInvalidRequest);
  request("initialize");
  EXPECT_EQ(error_code(request("textDocument/nothing")), kMethodNotFound);
  EXPECT_EQ(error_code(request("textDocument/hover")), kInvalidParams);
  EXPECT_EQ(error_code(request("textDocument/hover", 3)), kInvalidParams);
  EXPECT_EQ(error_code(request("textDocument/hover", {{"textDocument", {{"uri", "file:///closed"}}}})), kInvalidParams);
  EXPECT_EQ(request("shutdown")["result"], nullptr);
}

TEST(Garbage, PositionsOfWrongTypesAreRefused) {
  Editor editor;
  editor.open(kProgram);
  for (const json& line : {json(-1), json(1e300), json("1"), json(nullptr), json(0.5)}) {
    json answer = editor.ask("textDocument/hover",
                             {{"textDocument", {{"uri", kUri}}}, {"position", {{"line", line}, {"character", 0}}}});
    EXPECT_EQ(error_code(answer), kInvalidParams) << line;
  }
}

// It has no response, so the editor's log says why nothing happened.
TEST(Garbage, AWrongNotificationIsLogged) {
  Editor editor;
  editor.tell("textDocument/didChange", 3);
  editor.tell("textDocument/didChange",
              {{"textDocument", {{"uri", "file:///closed"}}}, {"contentChanges", json::array()}});
  ASSERT_EQ(editor.log().size(), 2u);
  EXPECT_EQ(editor.log()[1], "textDocument/didChange: `file:///closed` is not open");
  editor.tell("$/cancelRequest", {{"id", 1}});
  editor.tell("workspace/didSomethingNew", json::object());
  EXPECT_EQ(editor.log().size(), 2u);
}

TEST(Garbage, TextsThatAreNoProgramAreSurvived) {
  Editor editor;
  for (const std::string& text : {std::string(), std::string("\0\x01", 2), std::string(10000, '('),
                                  std::string(2 << 20, 'a'), std::string("rlflow 1\n\xEF\xBB\xBF")}) {
    editor.open(text);
    EXPECT_FALSE(editor.codes().empty());
    editor.at_cursor("hover", {});
    editor.at_cursor("definition", {});
    editor.at_cursor("completion", {});
    editor.at_cursor("documentSymbol", {});
  }
}

TEST(Garbage, AStreamWithoutHeadersEndsItWithTwo) {
  ProcessOptions options;
  options.input = "rlflow 1\n";
  ProcessResult result = run_process({RLFLOW_BINARY_DIR "/rlflow", "lsp"}, options);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("help: this verb is started by an editor"), std::string::npos) << result.err;
}

TEST(Start, MapsNeitherTorchNorTbb) {
  ServerProcess server;
  server.send(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})");
  server.receive();
  std::ifstream file("/proc/" + std::to_string(server.id()) + "/maps");
  std::stringstream maps;
  maps << file.rdbuf();
  EXPECT_NE(maps.str().find("libstdc++"), std::string::npos);
  for (const char* library : {"libtorch", "libc10", "libtbb", "librlflow_run"}) {
    EXPECT_EQ(maps.str().find(library), std::string::npos) << library;
  }
}

// As `check`: a program opened, its messages sent, the process gone.
TEST(Start, AnswersUnderFiftyMillisecondsOfProcessorTime) {
  const auto framed = [](const json& message) {
    const std::string text = message.dump();
    return "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  };
  ProcessOptions options;
  options.input = framed({{"id", 1}, {"method", "initialize"}}) +
                  framed({{"method", "textDocument/didOpen"},
                          {"params", {{"textDocument", {{"uri", kUri}, {"text", kProgram}}}}}}) +
                  framed({{"method", "exit"}});
  double least = 1;
  for (int i = 0; i < 10; ++i) {
    ProcessResult result = run_process({RLFLOW_BINARY_DIR "/rlflow", "lsp"}, options);
    ASSERT_NE(result.out.find("publishDiagnostics"), std::string::npos);
    least = std::min(least, result.cpu_seconds);
  }
  EXPECT_LT(least, 0.050);
}

}  // namespace
}  // namespace rlflow::testing
