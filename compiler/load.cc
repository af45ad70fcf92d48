// Reads source files and follows imports: relative to the importing file, never out of the project.
#include "compiler/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/names.h"
#include "compiler/parse.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

std::string find_root(const std::string& program) {
  std::error_code error;
  fs::path here = fs::current_path(error);
  fs::path folder = (here / program).lexically_normal().parent_path();
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", error) || fs::exists(at / "rlflow.toml", error)) return at.string();
    if (at == at.root_path()) break;
  }
  return here.string();
}

// Adds the file of the same folder that was probably meant.
void suggest_file(const std::string& path, Diagnostic& message) {
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".rlflow") names.push_back(entry->path().filename().string());
  }
  std::vector<std::string> close = close_names(fs::path(path).filename().string(), names);
  if (!close.empty()) message.help("did you mean `" + (folder / close[0]).string() + "`?");
}

std::string reason_of(int error_number) {
  if (error_number == ENOENT) return "there is no such file";
  if (error_number == EACCES) return "it may not be read";
  return std::strerror(error_number);
}

class Loader {
 public:
  Loader(const CompileRequest& request, SourceMap& sources, std::vector<ast::File>& files, Diagnostics& diagnostics)
      : request_(request), sources_(sources), files_(files), diagnostics_(diagnostics) {}

  Loaded run() {
    result_.root = request_.root ? *request_.root : find_root(request_.path);
    std::string path =
        request_.texts.count(request_.path) > 0 ? request_.path : fs::path(request_.path).lexically_normal().string();
    SourceText read = read_source(path, request_);
    if (!read.ok) {
      FileId file = sources_.add(request_.path, "");
      Diagnostic& message =
          diagnostics_.error("E0111", {file, 0, 0}, "cannot read `" + request_.path + "`: " + read.reason);
      if (!request_.only_texts) suggest_file(path, message);
      if (message.fixes.empty()) message.help("give the path of a .rlflow program");
      ast::File unread;
      unread.id = file;
      unread.broken = true;
      files_.push_back(std::move(unread));
      result_.modules.push_back({file, "", {}});
      result_.order = {0};
      return std::move(result_);
    }
    result_.readable = true;
    visit(path, std::move(read.text), "");
    return std::move(result_);
  }

 private:
  std::size_t visit(const std::string& path, std::string text, const std::string& prefix) {
    FileId file = sources_.add(path, std::move(text));
    std::size_t module = result_.modules.size();
    result_.modules.push_back({file, prefix, {}});
    by_path_[path] = module;
    open_.push_back(path);
    files_.push_back(parse_file(file, sources_, diagnostics_));
    // Copied: the list of files grows while its imports are followed.
    std::vector<ast::Decl> declarations = files_[module].decls;
    for (const ast::Decl& declaration : declarations) {
      if (const auto* import = std::get_if<ast::ImportDecl>(&declaration.data)) follow(*import, path, module, prefix);
    }
    open_.pop_back();
    result_.order.push_back(module);
    return module;
  }

  void follow(const ast::ImportDecl& import, const std::string& from, std::size_t module, const std::string& prefix) {
    fs::path target = (fs::path(from).parent_path() / import.path).lexically_normal();
    if (fs::path(import.path).is_absolute() || outside_root(target)) {
      diagnostics_.error("E0209", import.path_span, "an import may not leave the project")
          .note("the project is `" + result_.root + "`: the nearest folder with `.git` or `rlflow.toml`")
          .help("move the file into the project");
      return;
    }
    std::string path = target.string();
    auto known = by_path_.find(path);
    if (known != by_path_.end()) {
      if (std::find(open_.begin(), open_.end(), path) != open_.end()) return report_cycle(import, path);
      result_.modules[module].imports[import.alias.text] = known->second;
      return;
    }
    SourceText read = read_source(path, request_);
    if (!read.ok) {
      Diagnostic& message =
          diagnostics_.error("E0207", import.path_span, "cannot import `" + import.path + "`: " + read.reason);
      message.note("tried `" + path + "`; an import is relative to the file that it stands in");
      if (!request_.only_texts) suggest_file(path, message);
      return;
    }
    result_.modules[module].imports[import.alias.text] =
        visit(path, std::move(read.text), prefix + import.alias.text + ".");
  }

  // Recorded sources were checked when they were recorded, and nothing is read from the disk for them.
  bool outside_root(const fs::path& target) const {
    if (request_.only_texts) return false;
    std::error_code error;
    fs::path relative = (fs::current_path(error) / target).lexically_normal().lexically_relative(result_.root);
    return relative.empty() || *relative.begin() == "..";
  }

  void report_cycle(const ast::ImportDecl& import, const std::string& path) {
    std::string way;
    for (auto at = std::find(open_.begin(), open_.end(), path); at != open_.end(); ++at) way += "`" + *at + "` -> ";
    diagnostics_.error("E0208", import.path_span, "this import goes in a circle").note(way + "`" + path + "`");
  }

  const CompileRequest& request_;
  SourceMap& sources_;
  std::vector<ast::File>& files_;
  Diagnostics& diagnostics_;
  Loaded result_;
  std::map<std::string, std::size_t> by_path_;
  std::vector<std::string> open_;  // files whose imports are being followed
};

}  // namespace

SourceText read_source(const std::string& path, const CompileRequest& request) {
  auto given = request.texts.find(path);
  if (given != request.texts.end()) return {true, given->second, ""};
  if (request.only_texts) return {false, "", "it is not among the recorded sources"};
  std::error_code error;
  if (fs::is_directory(path, error)) return {false, "", "it is a folder"};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {false, "", reason_of(errno)};
  std::string text;
  // One byte more than a program may have is enough to say that it is too large.
  constexpr std::size_t kEnough = (1 << 20) + 1;
  text.resize(kEnough);
  file.read(text.data(), static_cast<std::streamsize>(kEnough));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return {false, "", "it could not be read to its end"};
  return {true, std::move(text), ""};
}

Loaded load(const CompileRequest& request, SourceMap& sources, std::vector<ast::File>& files,
            Diagnostics& diagnostics) {
  return Loader(request, sources, files, diagnostics).run();
}

}  // namespace rlflow
