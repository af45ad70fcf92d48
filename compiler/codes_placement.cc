// E05: devices, memory, batches; E06: data, rewards, files.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> placement_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0501", "", "GPU N belongs to two groups",
       "A device has one group. Device ranges exclude their end: gpu[0..4] holds 0 to 3. Sharing on purpose is one "
       "group "
       "with two nodes on it.",
       R"(group roll = gpu[0..5])"
       "\n"
       R"(group other = gpu[4..8])",
       R"(group roll = gpu[0..4])"
       "\n"
       R"(group other = gpu[4..8])"},
      {"E0502", "", "no GPU N here",
       "The group names a device that this machine does not have. `-s 'group=cpu'` runs it elsewhere.", "", ""},
      {"E0503", "", "N responses do not split into minibatches of M",
       "The minibatches of an update are equal parts of its batch, and each is shared by the data-parallel ranks of "
       "the "
       "model's group. Both numbers are global.",
       R"(step = update(policy, traj, adv) { loss = ppo, minibatch = 100 seqs })",
       R"(step = update(policy, traj, adv) { loss = ppo, minibatch = 64 seqs })"},
      {"E0504", "", "one response can be longer than the micro-batch",
       "`micro` and `budget` are tokens on one data-parallel rank, and one sequence is never cut: its prompt and "
       "max_new must fit.",
       R"(step = update(policy, traj, adv) { loss = ppo, micro = 16 tokens })",
       R"(step = update(policy, traj, adv) { loss = ppo, micro = 1Ki tokens })"},
      {"E0505", "", "tp and dp do not share out the devices",
       "tp x dp is the number of devices of the group; unstated, dp is devices / tp.",
       R"(group more = gpu[0..3] { tp = 2 })", R"(group more = gpu[0..4] { tp = 2 })"},
      {"E0506", "", "a group is given devices",
       "A group is `cpu`, or GPUs that follow each other: `gpu[0..4]`, `gpu[2]`.",
       R"(group here = cpus { threads = 2 })", R"(group here = cpu { threads = 2 })"},
      {"E0510", "", "this version runs one device a group",
       "Groups of several devices are checked and planned, not run yet.", "", ""},
      {"E0511", "", "this version cannot run X", "`check` and `graph` know more than `run` executes so far.", "", ""},
      {"E0512", "", "`X` runs where its model is",
       "A node with a model or a replica computes on that one's group; `on` is for nodes without one.",
       R"(group other = cpu)"
       "\n"
       R"(refl : logp[B, T] = logprob(ref, traj) on other when kl > 0)",
       R"(refl : logp[B, T] = logprob(ref, traj) on here when kl > 0)"},
      {"E0513", "", "each GPU of `X` needs N and has M",
       "Weights, gradients, optimizer moments, KV cache and activations of a group must fit into each of its devices. "
       "The message says which change would do: a smaller `budget` or `micro`, `offload = cpu` of a frozen model, more "
       "`tp`. `rlflow plan` shows every part.",
       "", ""},
  };
  return kCodes;
}

std::span<const CodeInfo> file_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0601", "", "there is no task generator `X`", "Your own data: `jsonl(\"path\")`.",
       R"(data train = builtin("additon"))", R"(data train = builtin("addition"))"},
      {"E0602", "", "there is no reward function `X`", "Your own code: `exec(\"command\")`.",
       R"(reward exact = builtin("exact_anser"))", R"(reward exact = builtin("exact_answer"))"},
      {"E0603", "", "there is no model folder `X`",
       "A model folder holds config.json, tokenizer.json and, to be loaded, model.safetensors. Paths are relative to "
       "the "
       "project root. Missing files are a warning in `check` and an error in `run`.",
       R"(model policy = load("models/nowhere") on here { trainable, optim = adamw(lr=1e-4) })", ""},
      {"E0604", "", "there is no data file `X`",
       "Paths are relative to the project root. Missing files are a warning in `check` and an error in `run`.",
       R"(data train = jsonl("nowhere.jsonl"))", ""},
      {"E0605", "", "a model cannot come from `X`",
       "Models come from `load(\"path\")` or `init(\"path\", seed=1)`; data from `builtin` or `jsonl`; rewards from "
       "`builtin` or `exec`.",
       R"(model policy = lod("models/tiny") on here { trainable, optim = adamw(lr=1e-4) })",
       R"(model policy = load("models/tiny") on here { trainable, optim = adamw(lr=1e-4) })"},
      {"E0606", "", "a source needs a string",
       "Paths, commands and names of built-ins are strings, or parameters of type path or string.",
       R"(reward exact = builtin(7))", R"(reward exact = builtin("exact_answer"))"},
      {"E0607", "", "there is no program `X`",
       "The command of `exec` is split at white space, with '…' and \"…\" around words that hold some; no shell reads "
       "it. Its first word is looked for in the folders of PATH or, with a `/`, from the project root. Missing "
       "programs "
       "are a warning in `check` and an error in `run`.",
       R"(reward exact = exec("pyhton3 judge.py"))", ""},
      {"E0608", "", "`A` reads tokens of `B`, whose tokenizer is another",
       "Models joined by an edge that carries tokens need equal tokenizers (tokenizer.json, but for its layout). A "
       "judge "
       "in `score` reads text and may have its own.",
       "", ""},
  };
  return kCodes;
}

}  // namespace rlflow
