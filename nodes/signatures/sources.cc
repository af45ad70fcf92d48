// Signatures of data sets and rewards: built-in ones by name, files and commands by their source.
#include "nodes/signatures/setting.h"
#include "nodes/signatures/tables.h"

namespace rlflow::signatures {
namespace {

SourceSignature source(std::string kind, std::string name, std::vector<SettingSpec> settings, std::string doc) {
  SourceSignature signature;
  signature.source = std::move(kind);
  signature.name = std::move(name);
  signature.settings = std::move(settings);
  signature.doc = std::move(doc);
  return signature;
}

std::vector<SettingSpec> ordering() {
  return {
      with_default(integer("seed", at_least(0), "chooses the rows of a generator, and the order with shuffle"), 0),
      optional(integer("size", at_least(1), "rows of an epoch; all if absent")),
      flag("shuffle", "a new order each epoch; of a generator only with size"),
  };
}

// How the text of a row becomes what the model is asked with.
std::vector<SettingSpec> asking() {
  const std::vector<std::string> named = {"chatml",   "qwen2_5", "qwen3",  "smollm2", "llama3",
                                          "llama3_1", "gemma",   "gemma3", "plain"};
  std::vector<std::string> all = {"none", "auto"}, with_system = {"auto"};
  all.insert(all.end(), named.begin(), named.end());
  all.emplace_back("fixed");
  with_system.insert(with_system.end(), named.begin(), named.end());
  return {
      optional(
          setting("max_prompt", SettingType::tokens, at_least(1), "longest prompt, template and prefill included")),
      only_with(with_default(
                    word("overlong", {"error", "skip", "left"},
                         "what happens to a longer prompt; skip: the row is left out, left: its last tokens are taken"),
                    "error"),
                "max_prompt", {}),
      with_default(word("template", all, "chat template around the prompt; auto: the one of the model's folder"),
                   "none"),
      only_with(optional(text("system", "system message, where the row has none of its own")), "template", with_system),
      only_with(optional(text("prefix", "what stands before the prompt; names of special tokens are these tokens")),
                "template", {"fixed"}),
      only_with(optional(text("suffix", "what stands after the prompt, likewise")), "template", {"fixed"}),
      optional(text("prefill", "what the assistant's turn begins with; {name} is a field of the row")),
  };
}

SourceSignature addition() {
  std::vector<SettingSpec> settings = ordering();
  settings.push_back(with_default(
      setting("digits", SettingType::int_range, between(1, 9), "digits of both numbers, lo..hi"), Value(Range{2, 3})));
  settings.push_back(with_default(
      word("split", {"train", "test"}, "test: only the tenth of all sums that train never shows"), "train"));
  settings.push_back(
      with_default(real("worked", between(0, 1), "share of example responses that work column by column"), 1.0));
  settings.push_back(
      with_default(real("forget_carry", between(0, 1), "chance that a response at once forgets a carry"), 0.0));
  settings.push_back(optional(text("question", "the prompt, with {a} and {b}; `{a}+{b}=` if absent")));
  for (SettingSpec& spec : asking()) settings.push_back(std::move(spec));
  SourceSignature signature =
      source("builtin", "addition", std::move(settings), "sums of two numbers with equally many digits: `347+586=`");
  signature.kinds = {Kind::prompts, Kind::examples};
  signature.endless = true;
  return signature;
}

SourceSignature jsonl() {
  std::vector<SettingSpec> settings = ordering();
  for (SettingSpec spec : {
           with_default(text("prompt", "field of the prompt: a text, or a list of {role, content}"),
                        Value(std::string("prompt"))),
           optional(text("answer", "field of what a judge compares with")),
           optional(text("response", "field of the response to imitate")),
           optional(text("chosen", "field of the better response of a pair")),
           optional(text("rejected", "field of the worse response of a pair")),
           with_default(word("malformed", {"strict", "skip"}, "what happens to a line that cannot be read"), "strict"),
       }) {
    settings.push_back(std::move(spec));
  }
  for (SettingSpec& spec : asking()) settings.push_back(std::move(spec));
  SourceSignature signature = source("jsonl", "", std::move(settings), "a file with one JSON object a line");
  signature.kinds = {Kind::prompts, Kind::examples, Kind::pairs};
  signature.fields = {{Kind::examples, {"response"}}, {Kind::pairs, {"chosen", "rejected"}}};
  return signature;
}

// What every reward takes.
SettingSpec examples() {
  return outside_meaning(
      optional(text("examples", "JSON lines of responses with their rewards, checked before step 1")));
}

SourceSignature reward(std::string name, std::vector<SettingSpec> settings, std::string doc) {
  settings.push_back(examples());
  return source("builtin", std::move(name), std::move(settings), std::move(doc));
}

SourceSignature exec() {
  return source(
      "exec", "",
      {
          with_default(integer("batch", between(1, 1024), "responses that a worker is asked together"), 1),
          outside_meaning(optional(word("sandbox", {"full", "basic", "off"},
                                        "how far it is shut in; if absent full, or basic where that is not possible"))),
          flag("network", "it may use the network"),
          outside_meaning(with_default(setting("memory", SettingType::bytes, above(0), "most memory of a worker"),
                                       Value(Quantity{std::int64_t{4} << 30, Unit::bytes}))),
          examples(),
      },
      "a program of yours: JSON lines in, JSON lines out (docs/rewards.md)");
}

}  // namespace

std::vector<SourceSignature> data_sources() { return {addition(), jsonl()}; }

std::vector<SourceSignature> reward_sources() {
  return {
      reward("exact_answer", {}, "1 if the response ended and what follows its last `>` is the answer, else 0"),
      reward("math_exact", {},
             "1 if the response ended and its number after `####`, in `\\boxed{}` or at the end equals the answer's, "
             "else 0"),
      reward("regex", {text("pattern", "PCRE2 pattern that must be found")},
             "1 if the pattern is found in the response, else 0"),
      reward("contains", {optional(text("text", "what to find; the answer if absent"))},
             "1 if the response holds the text, else 0"),
      reward("length",
             {with_default(integer("min", at_least(0), "fewest characters"), 0),
              integer("max", at_least(1), "most characters")},
             "1 if the length of the response is within bounds, else 0"),
      reward("format", {text("pattern", "PCRE2 pattern that the whole response must match")},
             "1 if the whole response has the form, else 0"),
      exec(),
  };
}

}  // namespace rlflow::signatures
