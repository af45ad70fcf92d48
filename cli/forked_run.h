// Makes a run that begins where another one is: what `fork` and `resume --from-checkpoint` share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/program_difference.h"
#include "cli/verb.h"

namespace rlflow {

struct NewFork {
  std::filesystem::path parent_dir;
  std::filesystem::path runs;  // where the new one lies
  std::string name;            // empty: the flow's name and two words
  std::string with;            // another program's path; empty: the parent's own
  std::vector<std::string> overrides;
  std::optional<Step> step;  // the last committed one if not set
};
struct MadeFork {
  std::filesystem::path run_dir;
  std::string name;
  std::string parent;
  Step step = 0;
  std::vector<Difference> changes;
};
// Opens the run library. Throws StoreError where the programs do not compile.
Outcome make_fork(const NewFork& fork, const Session& session, MadeFork& made);

// The newest committed step at which every trained model has a checkpoint; 0 where there is none.
Step newest_checkpoint_step(const std::filesystem::path& run_dir);

}  // namespace rlflow
