// Short ways to write the tables of this folder: one function a setting type, and what modifies a setting.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/contract/signature.h"

namespace rlflow::signatures {

struct Bounds {
  std::optional<double> lo;  // included, unless lo_open
  std::optional<double> hi;  // included
  bool lo_open = false;
};
inline Bounds at_least(double lo) { return {lo, std::nullopt, false}; }
inline Bounds above(double lo) { return {lo, std::nullopt, true}; }
inline Bounds between(double lo, double hi) { return {lo, hi, false}; }

inline SettingSpec setting(std::string name, SettingType type, Bounds bounds, std::string doc) {
  SettingSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.lo = bounds.lo;
  spec.hi = bounds.hi;
  spec.lo_open = bounds.lo_open;
  spec.doc = std::move(doc);
  return spec;
}

// Without a default these are required, until `optional(…)` says otherwise.
inline SettingSpec integer(std::string name, Bounds bounds, std::string doc) {
  return setting(std::move(name), SettingType::integer, bounds, std::move(doc));
}
inline SettingSpec real(std::string name, Bounds bounds, std::string doc) {
  return setting(std::move(name), SettingType::real, bounds, std::move(doc));
}
inline SettingSpec text(std::string name, std::string doc) {
  return setting(std::move(name), SettingType::text, {}, std::move(doc));
}
inline SettingSpec word(std::string name, std::vector<std::string> words, std::string doc) {
  SettingSpec spec = setting(std::move(name), SettingType::word, {}, std::move(doc));
  spec.words = std::move(words);
  return spec;
}
inline SettingSpec words(std::string name, std::vector<std::string> words, std::string doc) {
  SettingSpec spec = setting(std::move(name), SettingType::word_list, {}, std::move(doc));
  spec.words = std::move(words);
  return spec;
}
inline SettingSpec call(std::string name, std::vector<CallSpec> calls, std::string doc) {
  SettingSpec spec = setting(std::move(name), SettingType::call, {}, std::move(doc));
  spec.calls = std::move(calls);
  return spec;
}
// False unless given.
SettingSpec flag(std::string name, std::string doc);

SettingSpec with_default(SettingSpec spec, Value value);
SettingSpec with_default(SettingSpec spec, int value);
SettingSpec with_default(SettingSpec spec, double value);
SettingSpec with_default(SettingSpec spec, const char* word);
inline SettingSpec optional(SettingSpec spec) {
  spec.optional = true;
  return spec;
}
inline SettingSpec outside_meaning(SettingSpec spec) {
  spec.in_meaning = false;
  return spec;
}
// Of nodes that judge with a reward function.
inline SettingSpec judging_workers() {
  SettingSpec spec = integer("workers", between(1, 1024), "processes of a judge that is a program");
  spec.fallback.emplace(std::int64_t{1});
  return outside_meaning(std::move(spec));
}
// Known to check and plan; `run` refuses any value but the default.
inline SettingSpec not_executable(SettingSpec spec) {
  spec.runs = false;
  return spec;
}
// The same for some of its words or calls.
inline SettingSpec not_executable(SettingSpec spec, std::vector<std::string> names) {
  spec.not_executable = std::move(names);
  return spec;
}
// Without effect, and therefore an error, unless `setting` is one of these words.
inline SettingSpec only_with(SettingSpec spec, std::string setting, std::vector<std::string> words) {
  spec.with_setting = std::move(setting);
  spec.with_words = std::move(words);
  return spec;
}

// What these words ask of an input of the node.
inline SettingSpec asking(SettingSpec spec, WordDemand::Asks asks, std::string input, std::vector<std::string> words) {
  spec.demands.push_back({asks, std::move(input), std::move(words), {}, {}});
  return spec;
}
inline SettingSpec needing(SettingSpec spec, std::vector<std::string> words, std::string input, std::string needed,
                           std::string help) {
  spec.demands.push_back(
      {WordDemand::Asks::given, std::move(input), std::move(words), std::move(needed), std::move(help)});
  return spec;
}

inline ArgumentSpec argument(std::string name, ArgumentRole role, std::string doc) {
  ArgumentSpec spec;
  spec.name = std::move(name);
  spec.role = role;
  spec.doc = std::move(doc);
  return spec;
}
inline ArgumentSpec edge(std::string name, Kind kind, std::vector<std::string> dims, std::string doc) {
  ArgumentSpec spec = argument(std::move(name), ArgumentRole::edge, std::move(doc));
  spec.kinds = {kind};
  spec.dims = std::move(dims);
  return spec;
}
// Written name=…
inline ArgumentSpec named(ArgumentSpec spec) {
  spec.named_only = true;
  return spec;
}
inline ArgumentSpec optional(ArgumentSpec spec) {
  spec.optional = true;
  return spec;
}
inline ArgumentSpec variadic(ArgumentSpec spec) {
  spec.variadic = true;
  return spec;
}
// Made from one greedy response a prompt.
inline ArgumentSpec greedy(ArgumentSpec spec) {
  spec.greedy = true;
  return spec;
}
// A model with one of these heads.
inline ArgumentSpec with_head(ArgumentSpec spec, std::vector<std::string> heads) {
  spec.heads = std::move(heads);
  return spec;
}
inline OutputSpec output(std::string name, Kind kind, std::vector<std::string> dims) {
  OutputSpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.dims = std::move(dims);
  return spec;
}
// Metrics, and which of them other nodes may read by name.
inline OutputSpec metrics_output(std::vector<MetricSpec> metrics) {
  OutputSpec spec = output("metrics", Kind::metrics, {});
  spec.metrics = std::move(metrics);
  return spec;
}

inline NodeSignature node(std::string key, std::string doc) {
  NodeSignature signature;
  signature.key = std::move(key);
  signature.op = signature.key.substr(0, signature.key.find('/'));
  signature.doc = std::move(doc);
  return signature;
}

}  // namespace rlflow::signatures
