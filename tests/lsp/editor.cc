// What the scripted editor sends, and what it keeps of the answers.
#include "tests/lsp/editor.h"

#include <gtest/gtest.h>

#include "cli/lsp/text_index.h"

namespace rlflow::testing {

using nlohmann::json;

const std::string kProgram =
    "rlflow 1\n"                                                                                    // 0
    "param steps : int = 100 in 1..10000 \"optimizer steps\"\n"                                     // 1
    "group here = cpu { threads = 2 }\n"                                                            // 2
    "model policy = load(\"m\") on here { trainable, optim = adamw(lr=1e-4) }\n"                    // 3
    "model ref = load(\"m\") on here\n"                                                             // 4
    "replica sampler = policy on here\n"                                                            // 5
    "data train = builtin(\"addition\") { digits = 2..3 }\n"                                        // 6
    "reward exact = builtin(\"exact_answer\")\n"                                                    // 7
    "flow grpo {\n"                                                                                 // 8
    "  batch : prompts[P] = take(train, 32)\n"                                                      // 9
    "  traj = rollout(sampler, batch, n=8) { temperature = 1.0, max_new = 34 }\n"                   // 10
    "  r = score(exact, traj) { timeout = 5s }\n"                                                   // 11
    "  adv = advantage(r) { estimator = grpo }\n"                                                   // 12
    "  refl = logprob(ref, traj)\n"                                                                 // 13
    "  step = update(policy, traj, adv, ref=refl) { loss = ppo, kl = 0.1, minibatch = 64 seqs }\n"  // 14
    "  sync policy -> sampler every 1 step lag 0\n"                                                 // 15
    "  every 25 steps { checkpoint(policy) { keep = 2 } }\n"                                        // 16
    "  stop after steps\n"                                                                          // 17
    "}\n";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kProgram;
  std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  EXPECT_EQ(text.find(from, place + 1), std::string::npos) << from << " stands there twice";
  return text.replace(place, from.size(), to);
}

Editor::Editor() {
  ask("initialize", {{"capabilities", json::object()}});
  tell("initialized", json::object());
}

json Editor::ask(const std::string& method, json params) {
  json request = {{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}};
  server_.send(request.dump());
  for (;;) {
    json message = server_.receive();
    if (message.contains("id")) {
      EXPECT_EQ(message["id"], id_) << method;
      return message;
    }
    take(message);
  }
}

void Editor::tell(const std::string& method, json params) {
  json message = {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
  server_.send(message.dump());
  ask("$/sync", json::object());  // unknown, so answered at once, and behind whatever the notification caused
}

void Editor::open(std::string text, const std::string& uri) {
  uri_ = uri;
  std::size_t cursor = text.find('|');
  if (cursor != std::string::npos) {
    text.erase(cursor, 1);
    cursor_ =
        lsp::TextIndex(text).range(static_cast<std::uint32_t>(cursor), static_cast<std::uint32_t>(cursor))["start"];
  }
  tell("textDocument/didOpen",
       {{"textDocument", {{"uri", uri}, {"languageId", "rlflow"}, {"version", 1}, {"text", text}}}});
}

void Editor::edit(json changes) {
  tell("textDocument/didChange",
       {{"textDocument", {{"uri", uri_}, {"version", 2}}}, {"contentChanges", std::move(changes)}});
}

json Editor::at_cursor(const std::string& method, json params) {
  params["textDocument"] = {{"uri", uri_}};
  params["position"] = cursor_;
  json answer = ask("textDocument/" + method, std::move(params));
  EXPECT_TRUE(answer.contains("result")) << answer.dump();
  return answer.value("result", json());
}

std::vector<std::string> Editor::labels() {
  std::vector<std::string> labels;
  const json answer = at_cursor("completion");
  for (const json& item : answer.at("items")) labels.push_back(item["label"]);
  return labels;
}

json Editor::diagnostics(const std::string& uri) const {
  auto found = published_.find(uri);
  return found == published_.end() ? json() : found->second;
}

std::vector<std::string> Editor::codes(const std::string& uri) const {
  std::vector<std::string> codes;
  const json list = diagnostics(uri);
  for (const json& diagnostic : list) codes.push_back(diagnostic["code"]);
  return codes;
}

void Editor::take(const json& message) {
  const std::string method = message.value("method", "");
  if (method == "window/logMessage") log_.push_back(message["params"]["message"]);
  if (method == "textDocument/publishDiagnostics")
    published_[message["params"]["uri"]] = message["params"]["diagnostics"];
}

}  // namespace rlflow::testing
