// Does the server keep the life cycle and the error codes of the protocol?
#include <gtest/gtest.h>

#include "tests/lsp/editor.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

int error_code(const json& answer) { return answer.at("error").at("code").get<int>(); }

class Protocol : public ::testing::Test {
 protected:
  json request(const std::string& method, json params = json::object()) {
    return server_.handle({{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}}).at(0);
  }
  Catalog catalog_ = catalog();
  lsp::Server server_{catalog_};
};

TEST_F(Protocol, InitializeSaysWhatItCan) {
  json answer = request("initialize");
  EXPECT_EQ(answer["id"], 7);
  EXPECT_EQ(answer["result"]["capabilities"]["positionEncoding"], "utf-16");
  EXPECT_EQ(answer["result"]["capabilities"]["textDocumentSync"]["change"], 2);
}

TEST_F(Protocol, NothingBeforeInitialize) {
  EXPECT_EQ(error_code(request("textDocument/hover")), -32002);
  EXPECT_TRUE(server_.handle({{"jsonrpc", "2.0"}, {"method", "textDocument/didOpen"}}).empty());
}

TEST_F(Protocol, ExitAfterShutdownIsZeroElseOne) {
  request("initialize");
  EXPECT_EQ(request("shutdown")["result"], nullptr);
  EXPECT_EQ(error_code(request("textDocument/hover")), -32600);
  EXPECT_FALSE(server_.exit_code().has_value());
  server_.handle({{"jsonrpc", "2.0"}, {"method", "exit"}});
  EXPECT_EQ(server_.exit_code(), 0);

  lsp::Server abrupt(catalog_);
  abrupt.handle({{"jsonrpc", "2.0"}, {"method", "exit"}});
  EXPECT_EQ(abrupt.exit_code(), 1);
}

TEST_F(Protocol, WrongMessagesGetErrors) {
  EXPECT_EQ(error_code(server_.handle_text("{").at(0)), -32700);
  EXPECT_EQ(error_code(server_.handle_text("[]").at(0)), -32600);
  request("initialize");
  EXPECT_EQ(error_code(request("textDocument/nothing")), -32601);
  EXPECT_EQ(error_code(request("textDocument/hover")), -32602);
  EXPECT_EQ(error_code(request("textDocument/hover", {{"textDocument", {{"uri", "file:///closed"}}}})), -32602);
  EXPECT_TRUE(server_.handle({{"jsonrpc", "2.0"}, {"method", "$/cancelRequest"}, {"params", {{"id", 1}}}}).empty());
  EXPECT_TRUE(server_.handle({{"jsonrpc", "2.0"}, {"method", "textDocument/didChange"}, {"params", 3}}).empty());
}

}  // namespace
}  // namespace rlflow::testing
