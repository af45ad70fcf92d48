// What the compiler knows of node kinds, built-in data and rewards, and the settings of declarations:
// plain tables, filled by nodes/signatures and passed in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/attributes.h"
#include "runtime/contract/port_type.h"

namespace rlflow {

enum class SettingType {
  boolean,  // `whiten` alone means true
  integer,
  real,
  word,       // one of `words`
  text,       // string
  word_list,  // words of `words`, each once
  texts,      // a string or a list of them; always a list to who reads it
  duration,   // needs a unit: ms s m h
  tokens,     // needs `tokens`
  seqs,       // needs `seqs`
  bytes,      // needs B KiB MiB GiB
  int_range,  // lo..hi, both ends included
  real_list,
  word_or_real,  // a word of `words`, or a number
  call,          // a call of one of `calls`, e.g. truncate(2.0), adamw(lr=1e-6)
  real_or_call,  // a number, or a call of one of `calls`: lr = cosine(3e-3, …)
};

struct SettingSpec;

// What some words of a setting ask of an input of their node: an algorithm says it in its signature, so that the
// compiler need not know the algorithm.
struct WordDemand {
  enum class Asks {
    given,           // the input, optional to other words, is there (dpo: ref)
    groups,          // several responses to a prompt are behind it (grpo: r)
    one_a_response,  // it has no numbers a token (gspo: adv)
  };
  Asks asks = Asks::given;
  std::string input;
  std::vector<std::string> words;  // or calls
  std::string needed, help;        // of `given`: what the input is, and how to make one
};

// A function that may stand as a value: `adamw`, `cosine`, `truncate`. Arguments are settings given by
// position (in this order) or by name.
struct CallSpec {
  std::string name;
  std::vector<SettingSpec> arguments;
  std::string doc;
};

struct SettingSpec {
  std::string name;
  SettingType type = SettingType::boolean;
  std::optional<Value> fallback;  // the default; nullopt: required, unless `optional`
  bool optional = false;          // may be absent and has no default
  std::optional<double> lo;       // smallest value, included
  std::optional<double> hi;
  bool lo_open = false;               // lo itself is not allowed (a temperature may be 0, a learning rate not)
  std::optional<std::size_t> length;  // real_list: how many numbers; nullopt: any
  std::vector<std::string> words;
  std::vector<CallSpec> calls;
  bool in_meaning = true;                   // part of the semantic hash and the task key
  bool runs = true;                         // false: checks and plans; `run` refuses any value but the default
  std::vector<std::string> not_executable;  // those of `words` and `calls` that `run` refuses
  std::string with_setting;                 // has an effect only where this setting of the same node or data …
  std::vector<std::string> with_words;      // … is one of these words; none: where it is given at all
  std::vector<WordDemand> demands;          // of some of its words
  std::string doc;                          // one line
};

// Whether this build can execute a setting with this value; a null value means the setting is absent.
inline bool can_execute(const SettingSpec& spec, const Value& value) {
  if (value.is_null()) return true;
  if (!spec.runs) return spec.fallback.has_value() && *spec.fallback == value;
  const Word* word = value.get<Word>();
  const CallValue* call = value.get<CallValue>();
  const std::string name = word ? word->name : call ? call->name : std::string();
  return std::find(spec.not_executable.begin(), spec.not_executable.end(), name) == spec.not_executable.end();
}

enum class ArgumentRole {
  edge,  // an output of another node, of one of `kinds`
  data,
  replica,
  model,      // any model
  trainable,  // a model declared trainable
  reward,     // a declared reward function
  constant,   // a whole number that fixes the shape: n of rollout, the count of take
};

struct ArgumentSpec {
  std::string name;
  ArgumentRole role = ArgumentRole::edge;
  std::vector<Kind> kinds;         // edge: kinds accepted, the first is the one messages name
  std::vector<std::string> heads;  // model, trainable: values of the model's `head` that fit; empty: any
  std::vector<std::string> dims;   // edge: {"B", "T"}; equal letters of one signature must have one origin. A kind
                                   // with fewer dims than written here matches its prefix (reward[B] fits reward[B, T])
  bool optional = false;
  bool named_only = false;        // must be written name=…
  bool variadic = false;          // last; one or more
  bool greedy = false;            // made from one greedy response a prompt: compared with, not learned from
  std::optional<double> lo, hi;   // constant
  std::optional<Value> fallback;  // constant: default
  std::string doc;
};

// One number of a metrics output that another node may read by name: `step.kl`.
struct MetricSpec {
  std::string name;
  std::string with = "";  // reported only where the node is given this input or setting; empty: always
};

struct OutputSpec {
  std::string name;  // what a second unnamed use would be called: "adv", "returns"
  Kind kind = Kind::metrics;
  std::vector<std::string> dims;         // letters of the inputs, or fresh ones
  bool carried = false;                  // hidden: goes to this node's own next step (a cursor)
  std::vector<MetricSpec> metrics = {};  // of kind metrics: those that are always there or say when
};

enum class NodeEffect { none, update, checkpoint };

// Where an op has several signatures, the arguments choose (their kinds, roles and names); where those still leave
// several, the one whose `words` hold the word that the program gives to a setting (`estimator = reinforce_pp`).
struct NodeSignature {
  std::string key;           // unique: "update/policy"
  std::string op;            // "update"
  std::int32_t version = 1;  // raised when the same inputs would give other bits
  std::vector<ArgumentSpec> arguments;
  std::vector<OutputSpec> outputs;
  std::vector<SettingSpec> settings;  // without the common ones
  NodeEffect effect = NodeEffect::none;
  bool only_in_every = false;  // evaluate, checkpoint
  bool needs_tokenizer = false;
  bool drops_groups = false;  // fails response by response, so that `on_failure = drop_group` can be executed
  bool runs = true;           // false: known to check and plan, not executable yet
  std::string doc;            // one sentence
};

struct SourceSignature {    // one built-in task generator, reader or reward
  std::string source;       // "builtin", "jsonl", "exec"
  std::string name;         // of a builtin; empty for jsonl and exec
  std::vector<Kind> kinds;  // data: what take nodes can read from it (prompts, examples, pairs)
  std::vector<SettingSpec> settings;
  std::map<Kind, std::vector<std::string>> fields;  // data: settings without which it holds no such kind
  bool endless = false;                             // data: a generator, which without `size` has no last row
  bool runs = true;
  std::string doc;
};

struct Catalog {
  std::vector<NodeSignature> nodes;
  std::vector<SourceSignature> data;
  std::vector<SourceSignature> rewards;
  std::vector<SettingSpec> common;  // retry, timeout, on_failure, from
  std::vector<SettingSpec> model_settings;
  std::vector<SettingSpec> base_settings;  // of the base of a model: all else is the model's
  std::vector<SettingSpec> group_settings;
  std::vector<SettingSpec> replica_settings;
  std::vector<SettingSpec> sync_settings;
};

}  // namespace rlflow
