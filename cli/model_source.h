// Which model does MODEL mean? A Hugging Face folder, or RUN[:NAME[@VERSION]].
#pragma once

#include <optional>
#include <string>

#include "runtime/contract/plan.h"
#include "runtime/contract/run_api.h"

namespace CLI {
class App;
}

namespace rlflow {

struct NamedModel {
  ModelSource source;
  std::optional<Plan> plan;  // of the run
  // Where config.json and the tokenizer stand.
  std::filesystem::path folder;
};

// A folder that holds a config.json is one; all else names a run, its model NAME (its only trainable one if not named)
// at VERSION (the newest if not given). Throws StoreError (exit 2) that says what there is.
NamedModel find_model(const std::string& text, const std::filesystem::path& runs);

// Adds MODEL, required, and `--runs-dir`.
void add_model_argument(CLI::App& app, std::string& model, std::string& runs_dir);

}  // namespace rlflow
