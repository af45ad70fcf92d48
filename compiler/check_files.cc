// Whether the folders of models and the files of data are there.
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "compiler/check.h"
#include "compiler/names.h"

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

void check_data(const CheckInput& input, const Source& data, Diagnostics& diagnostics) {
  if (data.source == "builtin" || data.signature == nullptr) return;
  fs::path path = fs::path(input.pipeline.root) / data.argument;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return;
  Diagnostic& message =
      report(input, "E0604", data.argument_span, "there is no data file `" + data.argument + "`", diagnostics)
          .note("tried `" + path.string() + "`; paths are relative to the project root");
  advise_on_path(path, data.argument, message);
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
}

}  // namespace rlflow
