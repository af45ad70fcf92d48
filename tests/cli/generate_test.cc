// Do `generate` and `model` answer for folders and for models of runs, as text and as JSON?
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/tiny_runs.h"

namespace rlflow::testing {
namespace {

using nlohmann::json;

class GenerateVerb : public TinyRuns<GenerateVerb> {
 public:
  static void make_runs() { must({"run", "p.rlflow", "--name", "one", "--plain"}); }
};

TEST_F(GenerateVerb, AnswersAPromptAndSaysHow) {
  const json object = json_of(run({"generate", "models/tiny", "-p", "12+34=", "-n", "3", "--json"}));
  EXPECT_EQ(object.at("format"), "rlflow.generate/1");
  EXPECT_EQ(object.at("prompt_ids").size(), 7u);  // bos and six characters
  ASSERT_EQ(object.at("responses").size(), 3u);
  for (const json& response : object.at("responses")) {
    EXPECT_EQ(response.at("finish_reason"), "end");
    EXPECT_EQ(response.at("logprobs").size(), response.at("ids").size());
    EXPECT_EQ(response.at("text").get<std::string>().size() + 1, response.at("ids").size());  // and the end token
    for (const json& logprob : response.at("logprobs")) EXPECT_LE(logprob.get<double>(), 0);
  }
}

TEST_F(GenerateVerb, TheSameSeedIsTheSameTextThroughAnyDoor) {
  const std::vector<std::string> base = {"generate", "models/tiny", "--temperature", "1.5", "--seed", "7"};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = base;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string text =
      json_of(run(with({"-p", "47+86=", "--json"}))).at("responses").at(0).at("text").get<std::string>();
  EXPECT_EQ(run(with({"-p", "47+86="})).out, text + "\n");
  EXPECT_EQ(rlflow(with({}), folder_->path(), "47+86=\n").out, text + "\n");
  EXPECT_EQ(run(with({"-p", "47+86=", "--threads", "1"})).out, text + "\n");
  EXPECT_EQ(run(with({"-p", "47+86=", "-n", "2"})).out.find("--- 1 of 2  "), 0u);
}

TEST_F(GenerateVerb, SettingsDoWhatTheySay) {
  const auto first = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "models/tiny", "-p", "347+586=", "--json"});
    return json_of(run(more)).at("responses").at(0);
  };
  const json greedy = first({"--temperature", "0"});
  EXPECT_EQ(first({"--top-k", "1"}).at("ids"), greedy.at("ids"));
  EXPECT_EQ(first({"--top-p", "1e-9"}).at("ids"), greedy.at("ids"));
  EXPECT_EQ(first({"--min-p", "1"}).at("ids"), greedy.at("ids"));
  EXPECT_EQ(first({"--max-new", "1"}).at("finish_reason"), "length");
  EXPECT_EQ(first({"--temperature", "0", "--min-new", "30"}).at("ids").size() >= 30, true);
  const std::string text = greedy.at("text");
  ASSERT_GE(text.size(), 3u);
  const json stopped = first({"--temperature", "0", "--stop", "absent", "--stop", text.substr(1, 2)});
  EXPECT_EQ(stopped.at("finish_reason"), "stop");
  EXPECT_EQ(stopped.at("text"), text.substr(0, text.find(text.substr(1, 2))));
  // The stream holds back what may become the stop text.
  EXPECT_EQ(run({"generate", "models/tiny", "-p", "347+586=", "--temperature", "0", "--stop", text.substr(1, 2)}).out,
            stopped.at("text").get<std::string>() + "\n");
}

TEST_F(GenerateVerb, AModelOfARunAnswersAtAnyVersion) {
  const auto ids = [&](const std::string& model) {
    const json object = json_of(run({"generate", model, "-p", "47+86=", "-n", "4", "--temperature", "2", "--json"}));
    return object;
  };
  const json head = ids("one"), first = ids("one:policy@0"), folder = ids("models/tiny");
  EXPECT_EQ(head.at("version"), 3);
  EXPECT_EQ(first.at("version"), 0);
  EXPECT_EQ(first.at("responses"), folder.at("responses"));
  EXPECT_NE(head.at("responses").at(0).at("logprobs"), folder.at("responses").at(0).at("logprobs"));
  // As an exported folder answers.
  must({"export", "one", "--model", "policy", "-o", "exported"});
  EXPECT_EQ(ids("exported").at("responses"), head.at("responses"));
}

TEST_F(GenerateVerb, WhatCannotBeAnsweredIsSaid) {
  const auto refused = [&](const std::vector<std::string>& arguments, int code, const std::string& part) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  refused({"generate", "absent", "-p", "1"}, 2, "there is no run `absent`");
  refused({"generate", "one:ref2", "-p", "1"}, 2, "no model `ref2`");
  refused({"generate", "one:policy@9", "-p", "1"}, 2, "its versions are 0 to 3");
  refused({"generate", "one:policy@x", "-p", "1"}, 2, "`x` is not a version");
  refused({"generate", "models", "-p", "1"}, 2, "holds no config.json");
  refused({"generate", "models/tiny", "-p", "what?"}, 1, "w");
  refused({"generate", "models/tiny", "-p", std::string(64, '1')}, 1, "positions");
  refused({"generate", "models/tiny", "-p", "1", "--min-new", "9", "--max-new", "8"}, 1, "more than the most, 8");
  refused({"generate", "models/tiny", "-p", "1", "--stop", ""}, 2, "--stop");
  refused({"generate", "models/tiny", "-p", "1", "--chat"}, 1, "Without --chat");
  refused({"generate", "models/tiny", "--chat", "-n", "2"}, 2, "goes on with one answer");
  refused({"generate", "models/tiny", "-p", "1", "--system", "x"}, 2, "--chat");
}

TEST_F(GenerateVerb, AModelIsDescribed) {
  const json object = json_of(run({"model", "models/tiny", "--json"}));
  EXPECT_EQ(object.at("format"), "rlflow.model/1");
  EXPECT_EQ(object.at("architecture"), "LlamaForCausalLM");
  EXPECT_EQ(object.at("parameters"), object.at("weights").at("elements"));
  EXPECT_EQ(object.at("weights").at("dtypes"), json::array({"F32"}));
  EXPECT_EQ(object.at("problems"), json::array());
  EXPECT_EQ(json_of(run({"model", "one", "--json"})).at("shape"), object.at("shape"));
  EXPECT_NE(run({"model", "models/tiny"}).out.find("no problems"), std::string::npos);
}

TEST_F(GenerateVerb, WhatIsWrongWithAModelIsToldAndExitsOne) {
  std::filesystem::copy(path("models/tiny"), path("broken"));
  std::filesystem::resize_file(path("broken/model.safetensors"), 1000);
  std::filesystem::remove(path("broken/tokenizer.json"));
  const ProcessResult result = run({"model", "broken"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("parameters"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("problem  broken/model.safetensors"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("tokenizer.json"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace rlflow::testing
