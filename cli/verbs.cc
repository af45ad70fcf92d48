// Which verbs are there? The one table of dispatch, help and docs.
#include "cli/verb.h"

namespace rlflow {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = {
      {"new", "write a commented program to start from", "new grpo -o my.rlflow", declare_new},
      {"check", "find every mistake that can be found without running", "check pipelines/tiny_grpo.rlflow",
       declare_check},
      {"fmt", "write a program in its canonical form", "fmt --diff pipelines/tiny_grpo.rlflow", declare_fmt},
      {"plan", "show what a program would need: batches, tasks, bytes, memory, time",
       "plan pipelines/tiny_grpo.rlflow\nplan pipelines/tiny_grpo.rlflow --machine pipelines/machines/laptop.json",
       declare_plan},
      {"params", "list parameters and settings with their values and where they come from",
       "params pipelines/tiny_grpo.rlflow -s kl=0.02", declare_params},
      {"graph", "draw a program", "graph pipelines/tiny_grpo.rlflow -o tiny_grpo.svg", declare_graph},
      {"explain", "explain an error code", "explain E0301", declare_explain},
      {"lsp", "serve an editor over the standard input and output (Language Server Protocol)", "lsp", declare_lsp},
      {"run", "run a program",
       "run pipelines/tiny_grpo.rlflow\nrun pipelines/tiny_grpo.rlflow -s kl=0.02 -s traj.temperature=0.8 --name warm",
       declare_run},
      {"resume", "go on with a run that was paused, stopped or killed", "resume @last\nresume @last --dry-run",
       declare_resume},
      {"retry", "give failed tasks another chance, then resume", "retry @last\nretry @last --task r:3", declare_retry},
      {"fork", "make a run of its own that begins where another one is", "fork @last --from-step 40 -s kl=0.02",
       declare_fork},
      {"replay", "run recorded tasks again and compare the bits",
       "replay @last --task traj:42\nreplay @last --steps 10..12", declare_replay},
      {"export", "write a model as a Hugging Face folder, or a task as a bundle that replays elsewhere",
       "export @last --model policy -o out/policy\nexport @last --task step:42 -o out/step-42", declare_export},
      {"generate", "let a model answer a prompt, as it is made",
       "generate models/tiny -p '347+586='\ngenerate @last:policy@40 -p '347+586=' -n 4 --temperature 0.7",
       declare_generate},
      {"model", "describe a model: architecture, parameters, memory, tokenizer, problems", "model models/tiny",
       declare_model},
      {"runs", "list runs", "runs", declare_runs},
      {"show", "show a run: its state, metrics, tasks and versions",
       "show @last\nshow @last --step 42\nshow @last --task traj:42", declare_show},
      {"why", "tell why a task is as it is: inputs, version, attempts, readers", "why @last traj:42", declare_why},
      {"diff", "compare two runs: program, environment, first different task, metrics", "diff warm @last",
       declare_diff},
      {"fsck", "check that everything a run recorded is there and whole", "fsck @last\nfsck @last --deep",
       declare_fsck},
      {"gc", "throw away what a run can do without", "gc @last --dry-run\ngc @last --before 100", declare_gc},
  };
  return table;
}

}  // namespace rlflow
