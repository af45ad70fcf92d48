// Does a judge give what its examples say?
#include "nodes/reward/examples.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "nodes/format/file.h"
#include "nodes/format/format_error.h"
#include "nodes/format/json.h"
#include "runtime/contract/attributes.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-6;  // of the larger of 1 and the expected reward

struct Example {
  std::string place;  // "file:line"
  std::string prompt, response, answer;
  bool ended = true;
  std::string row;
  double reward = 0;
};

std::string text_in(const Json& object, const char* name, const std::string& place) {
  auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number()) return found->dump();
  throw FormatError(place + ": `" + name + "` is neither a text nor a number");
}

Example read_example(std::string_view line, const std::string& place) {
  const Json object = parse_json(line, place);
  if (!object.is_object()) throw FormatError(place + ": is not an object");
  auto reward = object.find("reward");
  if (object.find("response") == object.end() || reward == object.end() || !reward->is_number()) {
    throw FormatError(place + ": an example needs `response` and `reward`, a number");
  }
  Example example{place,
                  text_in(object, "prompt", place),
                  text_in(object, "response", place),
                  text_in(object, "answer", place),
                  true,
                  std::string(line),
                  reward->get<double>()};
  auto ended = object.find("ended");
  if (ended == object.end()) return example;
  if (!ended->is_boolean()) throw FormatError(place + ": `ended` is neither true nor false");
  example.ended = ended->get<bool>();
  return example;
}

std::vector<Example> read_examples(const std::string& name, const std::filesystem::path& root) {
  constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;
  const std::string text = read_text_file(root / name, kLargest);
  std::vector<Example> examples;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    examples.push_back(read_example(line, name + ":" + std::to_string(number)));
  }
  if (examples.empty()) throw FormatError(name + ": has no examples");
  return examples;
}

// What is wrong with a verdict; empty: nothing.
std::string fault(const Example& example, const RewardVerdict& verdict) {
  if (!verdict.ok()) return "no reward but an error: " + verdict.error;
  if (std::abs(verdict.value - example.reward) <= kTolerance * std::max(1.0, std::abs(example.reward))) return "";
  return "the reward is " + double_text(verdict.value) + ", the example says " + double_text(example.reward);
}

void judge_examples(const PlanReward& declared, const RewardPlace& place) {
  const std::vector<Example> examples = read_examples(text_at(declared.settings, "examples"), place.root);
  std::vector<RewardRequest> requests;
  for (const Example& e : examples) requests.push_back({e.prompt, e.response, e.answer, e.ended, e.row});
  const Judgement judgement = make_reward(declared, place)->judge(requests, {});
  std::string first;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::string what = fault(examples[i], judgement.verdicts[i]);
    if (what.empty()) continue;
    if (wrong++ == 0) first = examples[i].place + ": " + what + "; the response is `" + examples[i].response + "`";
  }
  if (wrong == 0) return;
  throw std::runtime_error(first + (wrong > 1 ? " (" + std::to_string(wrong) + " of " +
                                                    std::to_string(examples.size()) + " examples are wrong)"
                                              : ""));
}

}  // namespace

void check_examples(const PlanReward& reward, const RewardPlace& place) {
  if (!has(reward.settings, "examples")) return;
  try {
    judge_examples(reward, place);
  } catch (const std::exception& error) {
    throw std::runtime_error("reward `" + reward.name + "`: " + error.what());
  }
}

}  // namespace rlflow
