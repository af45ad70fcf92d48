// From MODEL to a folder or a model of a run.
#include "cli/model_source.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <system_error>

#include "cli/recorded_program.h"
#include "cli/run_folders.h"
#include "runtime/store/run_reader.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

StoreError unknown(const std::string& message, const std::string& help) {
  return StoreError(ExitCode::could_not_answer, "R0501", message, help);
}

Version version_of(const std::string& text) {
  Version version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 0) {
    throw unknown("`" + text + "` is not a version of a model", "write a number, e.g. `RUN:policy@20`");
  }
  return version;
}

// The model called `name`, or the only trainable one; by name, so that the message can list them.
const PlanModel& model_in(const Plan& plan, const std::string& name) {
  std::vector<const PlanModel*> trainable;
  std::string names;
  for (const PlanModel& model : plan.models) {
    if (model.name == name) return model;
    if (model.trainable && model.head == Head::lm) trainable.push_back(&model);
    names += (names.empty() ? "`" : ", `") + model.name + "`";
  }
  if (name.empty() && trainable.size() == 1) return *trainable.front();
  throw unknown(name.empty() ? "the run has several models to choose from" : "the run has no model `" + name + "`",
                "its models are " + names + "; write RUN:NAME");
}

NamedModel model_of_run(const std::string& text, const std::filesystem::path& runs) {
  const std::size_t colon = text.find(':', 1), at = colon == std::string::npos ? colon : text.find('@', colon);
  const std::string name =
      colon == std::string::npos ? "" : text.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  NamedModel found;
  found.source.run_dir = find_run(text.substr(0, colon), runs);
  found.plan = recorded_plan(RunReader(found.source.run_dir).run(), {}, nullptr);
  const PlanModel& model = model_in(*found.plan, name);
  found.source.model = model.name;
  if (at != std::string::npos) found.source.version = version_of(text.substr(at + 1));
  found.folder = std::filesystem::path(found.plan->root) / model.path;
  return found;
}

}  // namespace

NamedModel find_model(const std::string& text, const std::filesystem::path& runs) {
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::path(text) / "config.json", none)) {
    NamedModel found;
    found.source.folder = found.folder = text;
    return found;
  }
  if (std::filesystem::is_directory(text, none) &&
      !std::filesystem::exists(std::filesystem::path(text) / "state.db", none)) {
    throw unknown("`" + text + "` holds no config.json", "name a Hugging Face folder, or a run: RUN[:NAME[@VERSION]]");
  }
  return model_of_run(text, runs);
}

void add_model_argument(CLI::App& app, std::string& model, std::string& runs_dir) {
  app.add_option("model", model, "a Hugging Face folder, or a model of a run: RUN[:NAME[@VERSION]]")
      ->required()
      ->option_text("MODEL");
  add_runs_option(app, runs_dir);
}

}  // namespace rlflow
