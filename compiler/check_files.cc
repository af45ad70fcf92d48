// Whether the folders of models and the files of data are there.
#include <filesystem>
#include <string>
#include <system_error>

#include "compiler/check.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

Diagnostic& report(const CheckInput& input, const char* code, Span at, const std::string& message,
                   Diagnostics& diagnostics) {
  // A missing file may appear until the program runs.
  return input.mode == CompileMode::run ? diagnostics.error(code, at, message) : diagnostics.warning(code, at, message);
}

void check_model(const CheckInput& input, const Model& model, Diagnostics& diagnostics) {
  fs::path folder = fs::path(input.pipeline.root) / model.path;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    report(input, "E0603", model.path_span, "there is no model folder `" + model.path + "`", diagnostics)
        .note("tried `" + folder.string() + "`; paths are relative to the project root")
        .help("a model folder holds config.json, tokenizer.json and model.safetensors");
    return;
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
  report(input, "E0604", data.argument_span, "there is no data file `" + data.argument + "`", diagnostics)
      .note("tried `" + path.string() + "`; paths are relative to the project root");
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
