// `rlflow model MODEL`: what is in a model folder, and does this version run it?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/json_output.h"
#include "cli/model_source.h"
#include "cli/planning/plan_sizes.h"
#include "cli/run_folders.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/model_config.h"
#include "nodes/format/safetensors.h"
#include "nodes/format/tokenizer.h"

namespace rlflow {
namespace {

using nlohmann::json;

struct ModelOptions {
  std::string model;
  std::string runs_dir;
  bool as_json = false;
};

// What is known, section by section, and what is wrong; a section that cannot be read is a problem.
struct FolderFacts {
  json object = json::object();
  std::vector<std::string> problems;

  void attempt(const std::function<void()>& read) {
    try {
      read();
    } catch (const std::exception& error) {
      problems.push_back(error.what());
    }
  }
};

void read_architecture(const std::filesystem::path& folder, FolderFacts& facts) {
  const json config = parse_json(read_text_file(folder / "config.json", 1u << 20), "config.json");
  const json names = config.value("architectures", json::array());
  facts.object["architecture"] = names.is_array() && !names.empty() ? names.front() : json();
  facts.object["model_type"] = config.value("model_type", json());
}

void read_sizes(const std::filesystem::path& folder, FolderFacts& facts) {
  const ModelConfig shape = read_model_config(folder);  // refuses by name what this version does not compute
  facts.object["end_ids"] = shape.end_ids;
  facts.object["shape"] = {{"vocab", shape.vocab_size},
                           {"hidden", shape.hidden_size},
                           {"intermediate", shape.intermediate_size},
                           {"layers", shape.layers},
                           {"heads", shape.heads},
                           {"kv_heads", shape.kv_heads},
                           {"head_dim", shape.head_dim},
                           {"positions", shape.max_positions},
                           {"tied", shape.tie_word_embeddings}};
  const std::int64_t parameters = shape.with_token_head();
  facts.object["parameters"] = parameters;
  // Bytes: parameters in f32; AdamW's two moments and the gradient beside them; keys and values of one token.
  facts.object["memory"] = {{"weights_f32", 4 * parameters},
                            {"training_f32", 16 * parameters},
                            {"kv_token_f32", 4 * 2 * shape.layers * shape.kv_size()}};
}

void read_weights(const std::filesystem::path& folder, FolderFacts& facts) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw FormatError(folder.string() + ": has no .safetensors file");
  std::set<std::string> types;
  std::uint64_t tensors = 0, elements = 0, bytes = 0;
  for (const std::string& name : files) {
    const MappedFile mapped(folder / name);
    const SafetensorsFile file(mapped.bytes(), (folder / name).string());
    for (const TensorView& tensor : file.tensors()) {
      types.insert(std::string(tensor_type_name(tensor.type)));
      elements += tensor.data.size() / tensor_type_size(tensor.type);
      bytes += tensor.data.size();
    }
    tensors += file.tensors().size();
  }
  facts.object["weights"] = {
      {"files", files}, {"dtypes", types}, {"tensors", tensors}, {"elements", elements}, {"bytes", bytes}};
}

void read_tokenizer_facts(const std::filesystem::path& folder, FolderFacts& facts) {
  const Tokenizer tokenizer = read_tokenizer(folder);
  const auto id = [](std::int32_t token) { return token < 0 ? json() : json(token); };
  facts.object["tokenizer"] = {{"vocabulary", tokenizer.vocabulary_size()},
                               {"bos", id(tokenizer.bos())},
                               {"eos", id(tokenizer.eos())},
                               {"pad", id(tokenizer.pad())}};
  if (!facts.object.contains("shape")) return;
  const auto vocab = facts.object["shape"]["vocab"].get<std::int64_t>();
  if (tokenizer.vocabulary_size() > vocab) {
    facts.problems.push_back("the tokenizer has " + std::to_string(tokenizer.vocabulary_size()) +
                             " tokens, the model only " + std::to_string(vocab));
  }
}

FolderFacts facts_of(const std::filesystem::path& folder) {
  FolderFacts facts;
  facts.attempt([&] { read_architecture(folder, facts); });
  facts.attempt([&] { read_sizes(folder, facts); });
  facts.attempt([&] { read_weights(folder, facts); });
  facts.attempt([&] { read_tokenizer_facts(folder, facts); });
  return facts;
}

// Of a model of a run that is trained by adapters.
void add_adapters(const NamedModel& model, FolderFacts& facts) {
  if (!model.plan || !facts.object.contains("shape")) return;
  for (const PlanModel& of : model.plan->models) {
    const CallValue* lora = of.name == model.source.model ? lora_of(of) : nullptr;
    if (lora == nullptr) continue;
    json targets = json::array();
    for (const Value& target : *value_at(lora->named, "targets").get<List>()) {
      targets.push_back(target.get<Word>()->name);
    }
    facts.object["adapters"] = {{"rank", int_at(lora->named, "rank")},
                                {"alpha", real_at(lora->named, "alpha")},
                                {"targets", targets},
                                {"parameters", trained_parameters(of, read_model_config(model.folder))}};
  }
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string bytes_text(const json& bytes) {
  const double value = bytes.get<double>();
  char buffer[32];
  if (value < 1 << 20) {
    std::snprintf(buffer, sizeof buffer, "%.1f KiB", value / 1024);
  } else if (value < 1 << 30) {
    std::snprintf(buffer, sizeof buffer, "%.1f MiB", value / (1 << 20));
  } else {
    std::snprintf(buffer, sizeof buffer, "%.2f GiB", value / (1 << 30));
  }
  return buffer;
}

std::string listed(const json& values) {
  std::string text;
  for (const json& value : values) {
    text += (text.empty() ? "" : ", ") + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

void print_facts(const FolderFacts& facts) {
  const json& o = facts.object;
  Table table;
  const auto text = [](const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
  if (o.contains("architecture")) table.rows.push_back({"architecture", text(o["architecture"])});
  if (o.contains("shape")) {
    const json& s = o["shape"];
    table.rows.push_back({"shape", s["layers"].dump() + " layers, hidden " + s["hidden"].dump() + ", heads " +
                                       s["heads"].dump() + " (" + s["kv_heads"].dump() + " of keys and values) of " +
                                       s["head_dim"].dump() + ", mlp " + s["intermediate"].dump()});
    table.rows.push_back(
        {"vocabulary", s["vocab"].dump() + (s["tied"].get<bool>() ? ", head tied to the embedding" : "")});
    table.rows.push_back({"positions", s["positions"].get<std::int64_t>() > 0 ? s["positions"].dump() : "not said"});
    table.rows.push_back({"parameters", count_text(o["parameters"])});
    const json& m = o["memory"];
    table.rows.push_back({"memory", bytes_text(m["weights_f32"]) + " of weights in f32; with gradient and AdamW " +
                                        bytes_text(m["training_f32"]) + "; " + bytes_text(m["kv_token_f32"]) +
                                        " of keys and values a token"});
  }
  if (o.contains("adapters")) {
    const json& a = o["adapters"];
    table.rows.push_back({"adapters", "rank " + a["rank"].dump() + " on " + listed(a["targets"]) + ", " +
                                          count_text(a["parameters"]) + " parameters; the rest is the base"});
  }
  if (o.contains("weights")) {
    const json& w = o["weights"];
    table.rows.push_back({"weights", w["tensors"].dump() + " tensors, " + listed(w["dtypes"]) + ", " +
                                         bytes_text(w["bytes"]) + " in " + listed(w["files"])});
  }
  if (o.contains("tokenizer")) {
    const json& t = o["tokenizer"];
    table.rows.push_back({"tokenizer", t["vocabulary"].dump() + " tokens; bos " + t["bos"].dump() + ", eos " +
                                           t["eos"].dump() + ", pad " + t["pad"].dump()});
  }
  if (o.contains("end_ids")) table.rows.push_back({"end tokens", listed(o["end_ids"])});
  std::cout << to_text(table);
  for (const std::string& problem : facts.problems) std::cout << "problem  " << problem << "\n";
  if (facts.problems.empty()) std::cout << "no problems\n";
}

ExitCode describe(const ModelOptions& options) {
  const NamedModel model = find_model(options.model, runs_folder(options.runs_dir));
  FolderFacts facts = facts_of(model.folder);
  add_adapters(model, facts);
  if (options.as_json) {
    facts.object["format"] = "rlflow.model/1";
    facts.object["folder"] = model.folder.string();
    facts.object["problems"] = facts.problems;
    print_json(facts.object);
  } else {
    print_facts(facts);
  }
  return facts.problems.empty() ? ExitCode::yes : ExitCode::no;
}

}  // namespace

Action declare_model(CLI::App& app, const Session&) {
  auto options = std::make_shared<ModelOptions>();  // shared by the parser, which fills it, and the action
  add_model_argument(app, options->model, options->runs_dir);
  app.add_flag("--json", options->as_json, "print one JSON object, rlflow.model/1");
  return [options] { return describe(*options); };
}

}  // namespace rlflow
