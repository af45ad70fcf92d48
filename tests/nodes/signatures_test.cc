// Are the tables that the compiler believes well formed, and is what they call executable really there?
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nodes/catalog.h"
#include "nodes/signatures/catalog.h"

namespace rlflow {
namespace {

const NodeSignature& signature(const Catalog& tables, std::string_view key) {
  const auto it = std::find_if(tables.nodes.begin(), tables.nodes.end(), [&](const auto& s) { return s.key == key; });
  if (it == tables.nodes.end()) throw std::runtime_error("no signature " + std::string(key));
  return *it;
}

const SettingSpec& setting_named(const std::vector<SettingSpec>& settings, std::string_view name) {
  const auto it = std::find_if(settings.begin(), settings.end(), [&](const auto& s) { return s.name == name; });
  if (it == settings.end()) throw std::runtime_error("no setting " + std::string(name));
  return *it;
}

void check_setting(const SettingSpec& spec, const std::string& where);

void check_settings(const std::vector<SettingSpec>& settings, const std::string& where) {
  std::set<std::string> names;
  for (const SettingSpec& spec : settings) {
    EXPECT_TRUE(names.insert(spec.name).second) << where << ": two settings named " << spec.name;
    check_setting(spec, where + "." + spec.name);
  }
}

void check_setting(const SettingSpec& spec, const std::string& where) {
  EXPECT_FALSE(spec.doc.empty()) << where;
  EXPECT_EQ(spec.doc.find('\n'), std::string::npos) << where;
  EXPECT_FALSE(spec.fallback && spec.optional) << where << " has a default and may be absent";
  const bool takes_word =
      spec.type == SettingType::word || spec.type == SettingType::word_list || spec.type == SettingType::word_or_real;
  const bool takes_call = spec.type == SettingType::call || spec.type == SettingType::real_or_call;
  EXPECT_EQ(takes_word, !spec.words.empty()) << where;
  EXPECT_EQ(takes_call, !spec.calls.empty()) << where;
  if (spec.fallback) {
    EXPECT_TRUE(can_execute(spec, *spec.fallback)) << where << ": its default is not executable";
    if (const Word* word = spec.fallback->get<Word>()) {
      EXPECT_TRUE(std::count(spec.words.begin(), spec.words.end(), word->name)) << where << ": default " << word->name;
    }
  }
  for (const std::string& name : spec.not_executable) {
    const bool call =
        std::any_of(spec.calls.begin(), spec.calls.end(), [&](const CallSpec& c) { return c.name == name; });
    EXPECT_TRUE(call || std::count(spec.words.begin(), spec.words.end(), name)) << where << ": unknown word " << name;
  }
  for (const CallSpec& call : spec.calls) check_settings(call.arguments, where + "." + call.name);
}

TEST(Signatures, SettingsAreWellFormed) {
  const Catalog tables = catalog();
  for (const NodeSignature& node : tables.nodes) check_settings(node.settings, node.key);
  for (const SourceSignature& source : tables.data) check_settings(source.settings, source.source + source.name);
  for (const SourceSignature& source : tables.rewards) check_settings(source.settings, source.source + source.name);
  check_settings(tables.common, "common");
  check_settings(tables.model_settings, "model");
  check_settings(tables.base_settings, "base");
  check_settings(tables.group_settings, "group");
  check_settings(tables.replica_settings, "replica");
  check_settings(tables.sync_settings, "sync");
}

TEST(Signatures, NodesAreWellFormed) {
  std::set<std::string> keys;
  for (const NodeSignature& node : catalog().nodes) {
    EXPECT_TRUE(keys.insert(node.key).second) << node.key << " stands twice";
    EXPECT_EQ(node.op, node.key.substr(0, node.key.find('/')));
    EXPECT_FALSE(node.doc.empty()) << node.key;
    bool named = false;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const ArgumentSpec& argument = node.arguments[i];
      EXPECT_FALSE(argument.doc.empty()) << node.key << "." << argument.name;
      EXPECT_EQ(argument.role == ArgumentRole::edge, !argument.kinds.empty()) << node.key << "." << argument.name;
      EXPECT_TRUE(!argument.variadic || i + 1 == node.arguments.size()) << node.key << "." << argument.name;
      EXPECT_TRUE(argument.named_only || !named) << node.key << ": a positional argument after a named one";
      named |= argument.named_only;
    }
    for (const SettingSpec& common : catalog().common) {
      for (const SettingSpec& own : node.settings) EXPECT_NE(own.name, common.name) << node.key;
    }
  }
}

TEST(Signatures, WhatTheLanguageReferenceNamesIsThere) {
  const Catalog tables = catalog();
  std::set<std::string> ops;
  for (const NodeSignature& node : tables.nodes) ops.insert(node.op);
  EXPECT_EQ(ops, (std::set<std::string>{"take", "take_examples", "take_pairs", "rollout", "score", "combine", "logprob",
                                        "value", "kl_penalty", "adapt_kl", "advantage", "filter", "update", "evaluate",
                                        "checkpoint"}));
  EXPECT_EQ(signature(tables, "update/policy").arguments[3].name, "old");
  EXPECT_TRUE(signature(tables, "evaluate/function").only_in_every);
  EXPECT_TRUE(signature(tables, "take").outputs[1].carried);
  EXPECT_FALSE(setting_named(tables.common, "retry").in_meaning);
}

TEST(Signatures, WhatCannotBeExecutedIsKnown) {
  const Catalog tables = catalog();
  const SettingSpec& loss = setting_named(signature(tables, "update/pairs").settings, "loss");
  EXPECT_TRUE(can_execute(loss, Value(Word{"dpo"})));
  EXPECT_FALSE(can_execute(loss, Value(Word{"reward"})));
  const SettingSpec& shards = setting_named(signature(tables, "rollout").settings, "shards");
  EXPECT_TRUE(can_execute(shards, Value(std::int64_t{1})));
  EXPECT_FALSE(can_execute(shards, Value(std::int64_t{2})));
}

// A signature says `runs` if and only if there is code; checkpoints are written by the engine.
TEST(Signatures, AgreeWithTheNodeKinds) {
  std::set<std::string> executable;
  for (const NodeSignature& node : catalog().nodes) {
    if (node.runs && node.effect != NodeEffect::checkpoint) executable.insert(node.key);
  }
  std::set<std::string> made;
  for (const NodeKind& kind : node_kinds()) {
    EXPECT_TRUE(made.insert(std::string(kind.signature)).second) << kind.signature << " stands twice";
  }
  EXPECT_EQ(made.erase("refill"), 1u);  // no program can name it: the compiler writes it where a filter refills
  EXPECT_EQ(executable, made);
}

}  // namespace
}  // namespace rlflow
