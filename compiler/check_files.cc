// Whether the folders of models, the files of data and the programs of rewards are there.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "compiler/check.h"
#include "compiler/names.h"
#include "nodes/format/command.h"
#include "nodes/format/format_error.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

Diagnostic& report(const CheckInput& input, const char* code, Span at, const std::string& message,
                   Diagnostics& diagnostics) {
  // A missing file may appear until the program runs.
  return input.mode == CompileMode::run ? diagnostics.error(code, at, message) : diagnostics.warning(code, at, message);
}

// Adds the neighbour that was probably meant, or that a backslash was read as an escape.
void advise_on_path(const fs::path& path, const std::string& written, Diagnostic& message) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::vector<std::string> close = close_names(path.filename().string(), names);
  if (!close.empty()) message.help("did you mean `" + (fs::path(written).parent_path() / close[0]).string() + "`?");
  if (written.find_first_of("\t\n") != std::string::npos)
    message.note("`\\t` and `\\n` in a string are escapes; parts of a path are separated by `/`");
}

void check_model(const CheckInput& input, const Model& model, Diagnostics& diagnostics) {
  fs::path folder = fs::path(input.pipeline.root) / model.path;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    Diagnostic& message =
        report(input, "E0603", model.path_span, "there is no model folder `" + model.path + "`", diagnostics)
            .note("tried `" + folder.string() + "`; paths are relative to the project root")
            .note("a model folder holds config.json, tokenizer.json and model.safetensors");
    return advise_on_path(folder, model.path, message);
  }
  std::vector<std::string> wanted = {"config.json", "tokenizer.json"};
  bool sharded = fs::exists(folder / "model.safetensors.index.json", error);
  if (model.loader == "load" && !sharded) wanted.push_back("model.safetensors");
  for (const std::string& name : wanted) {
    if (fs::exists(folder / name, error)) continue;
    report(input, "E0603", model.path_span, "the model folder `" + model.path + "` has no `" + name + "`", diagnostics)
        .note("tried `" + (folder / name).string() + "`");
    return;
  }
}

void check_data_file(const CheckInput& input, const std::string& name, Span at, Diagnostics& diagnostics) {
  fs::path path = fs::path(input.pipeline.root) / name;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return;
  Diagnostic& message = report(input, "E0604", at, "there is no data file `" + name + "`", diagnostics)
                            .note("tried `" + path.string() + "`; paths are relative to the project root");
  advise_on_path(path, name, message);
}

void check_data(const CheckInput& input, const Source& data, Diagnostics& diagnostics) {
  if (data.source == "builtin" || data.signature == nullptr) return;
  check_data_file(input, data.argument, data.argument_span, diagnostics);
}

// `python3 reward.py`: the text that an interpreter is to read.
bool is_script(const std::string& word) {
  const std::string extension = fs::path(word).extension();
  for (const char* known : {".py", ".sh", ".js", ".rb", ".pl", ".lua", ".R"}) {
    if (extension == known) return true;
  }
  return false;
}

void check_command(const CheckInput& input, const Source& reward, Diagnostics& diagnostics) {
  const fs::path root = input.pipeline.root;
  std::vector<std::string> words;
  try {
    words = command_words(reward.argument);
  } catch (const FormatError& error) {
    diagnostics.error("E0607", reward.argument_span, std::string("this is no command: ") + error.what());
    return;
  }
  const char* search = std::getenv("PATH");
  if (!find_program(words[0], root, search != nullptr ? search : "")) {
    Diagnostic& message =
        report(input, "E0607", reward.argument_span, "there is no program `" + words[0] + "`", diagnostics);
    if (words[0].find('/') == std::string::npos) {
      message.note("looked for it in the folders of PATH; one of the project is written with a `/`: `./" + words[0] +
                   "`");
      return;
    }
    std::error_code error;
    if (fs::is_regular_file(root / words[0], error)) {
      message.note("`" + (root / words[0]).string() + "` is there but may not be executed");
      return;
    }
    message.note("tried `" + (root / words[0]).string() + "`; paths are relative to the project root");
    return advise_on_path(root / words[0], words[0], message);
  }
  std::error_code error;
  if (words.size() < 2 || !is_script(words[1]) || fs::is_regular_file(root / words[1], error)) return;
  Diagnostic& message =
      report(input, "E0607", reward.argument_span, "there is no program `" + words[1] + "`", diagnostics)
          .note("tried `" + (root / words[1]).string() + "`; paths are relative to the project root");
  advise_on_path(root / words[1], words[1], message);
}

void check_reward(const CheckInput& input, const Source& reward, Diagnostics& diagnostics) {
  if (reward.signature == nullptr) return;
  if (reward.source == "exec") check_command(input, reward, diagnostics);
  auto examples = reward.settings.find("examples");
  if (examples == reward.settings.end()) return;
  const auto* name = examples->second.value.get<std::string>();
  if (name != nullptr) check_data_file(input, *name, examples->second.value_span, diagnostics);
}

}  // namespace

void check_files(const CheckInput& input, Diagnostics& diagnostics) {
  Usage usage = usage_of(input.pipeline);
  std::set<std::pair<std::string, std::string>> told;  // one message a folder
  for (ModelId id : usage.models) {
    const Model& model = input.pipeline.models[id.index()];
    if (!model.path.empty() && told.emplace(model.path, model.loader).second) check_model(input, model, diagnostics);
  }
  for (DataId id : usage.data) check_data(input, input.pipeline.data[id.index()], diagnostics);
  for (RewardId id : usage.rewards) check_reward(input, input.pipeline.rewards[id.index()], diagnostics);
}

}  // namespace rlflow
