// One row a word: the form that it stands in, and what it means.
#include "cli/lsp/keyword_docs.h"

#include <algorithm>
#include <iterator>

namespace rlflow::lsp {
namespace {

struct KeywordDoc {
  std::string_view word;
  std::string_view form;
  std::string_view doc;
};

constexpr KeywordDoc kDocs[] = {
    {"rlflow", "rlflow 1", "The version of the language; the first statement of every program."},
    {"import", "import \"FILE.rlflow\" as name",
     "Reads the declarations of a file, relative to this one; runs nothing."},
    {"param", "param name : type = value in lo..hi \"doc\"",
     "A constant that `-s name=value` changes. Both ends of the range are included."},
    {"group", "group name = cpu { threads = 2 }",
     "Devices that compute: `cpu`, or `gpu[first..end]`, the end excluded."},
    {"model", "model name = load(\"path\") on group { settings }",
     "Weights on a group. Frozen, unless `trainable` stands in its settings."},
    {"replica", "replica name = model on group", "Weights of a model to sample from, brought up to date by `sync`."},
    {"data", "data name = builtin(\"name\") { settings }",
     "Rows to learn from: a generator, or a file: `jsonl(\"path\")`."},
    {"reward", "reward name = builtin(\"name\")",
     "What judges responses: a built-in, or a program: `exec(\"command\")`."},
    {"flow", "flow name { statements }", "What is computed each step: nodes joined by the names of their outputs."},
    {"load", "load(\"path\")",
     "A model from a folder with config.json, tokenizer.json and model.safetensors, relative to the project root."},
    {"init", "init(\"path\", seed=1)", "A model of the folder's config.json and tokenizer.json, with random weights."},
    {"base_of", "base_of(model)",
     "The weights that a model's adapters (`lora`) are added to, frozen: a reference that takes no second copy of "
     "them."},
    {"cpu", "cpu { threads = 2 }", "Threads of this machine."},
    {"gpu", "gpu[0..4] { tp = 2 }",
     "GPUs of this machine; the end is excluded: 0 to 3. tp x dp is how many there are."},
    {"sync", "sync model -> replica every 1 step lag 0",
     "Gives the replica the weights of the model. The rollout of step k uses those of step k-1-lag, or of the last "
     "multiple of the period before it."},
    {"lag", "lag 1",
     "How many steps the weights that are sampled from may be older than the newest; above 0 the update needs "
     "`off_policy`. `lag <= 1`: the newest there are, at most 1 older."},
    {"every", "every 10 steps and at start { evaluate or checkpoint }",
     "Runs after the update of each tenth step, and after the last step; `and at start`: also before the first."},
    {"step", "every 1 step", "One step is one pass of the flow, with at most one update a model."},
    {"steps", "every 10 steps", "One step is one pass of the flow, with at most one update a model."},
    {"start", "every 10 steps and at start { … }", "Also before the first step, with the weights as loaded."},
    {"stop", "stop after 1000", "The number of steps of the run."},
    {"after", "stop after 1000", "The number of steps of the run."},
    {"on", "on group", "The devices; a node inherits them from its model."},
    {"when", "when kl > 0",
     "Removes the node where the condition over params is false; its output then fits only optional inputs."},
    {"in", "in 1..100", "The values that a param may have: a range, both ends included, or a set `{a, b}`."},
    {"as", "import \"FILE.rlflow\" as name", "The name in front of what the import declares: `name.steps`."},
    {"prev", "prev(x, init=0.0)", "The value of `x` in the last step; `init` in the first one."},
    {"min", "min(a, b)", "The smaller one."},
    {"max", "max(a, b)", "The larger one."},
};

}  // namespace

std::string keyword_doc(std::string_view word) {
  const auto* row =
      std::find_if(std::begin(kDocs), std::end(kDocs), [word](const KeywordDoc& doc) { return doc.word == word; });
  if (row == std::end(kDocs)) return "";
  return "```rlflow\n" + std::string(row->form) + "\n```\n" + std::string(row->doc) + "\n";
}

}  // namespace rlflow::lsp
