// Buffers in, analyses out.
#include "cli/lsp/workspace.h"

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/lsp/text_index.h"
#include "compiler/project_root.h"

namespace rlflow::lsp {
namespace {

constexpr std::string_view kFileScheme = "file://";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kPlain = "/-._~";
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : path) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

bool holds(const Analysis& analysis, const std::string& path) {
  for (std::size_t i = 0; i < analysis.sources.size(); ++i) {
    if (analysis.sources.file(FileId(i)).path == path) return true;
  }
  return false;
}

// An import that failed may succeed with another file's text.
bool misses_a_file(const Analysis& analysis) {
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.code == "E0207" || diagnostic.code == "E0111") return true;
  }
  return false;
}

}  // namespace

std::string path_of_uri(const std::string& uri) {
  if (!uri.starts_with(kFileScheme)) return uri;
  std::string_view rest = std::string_view(uri).substr(kFileScheme.size());
  std::size_t slash = rest.find('/');  // behind the host, which is empty or this machine
  if (slash == std::string_view::npos) return uri;
  return std::filesystem::path(percent_decoded(rest.substr(slash))).lexically_normal().string();
}

void Workspace::set_folders(std::vector<std::string> folders) { folders_ = std::move(folders); }

void Workspace::open(const std::string& uri, std::int64_t version, std::string text) {
  Document& document = documents_[uri];
  document.uri = uri;
  document.path = path_of_uri(uri);
  document.version = version;
  document.text = std::move(text);
  analyze_one(document);
  analyze_users_of(document.path);
}

void Workspace::change(const std::string& uri, std::int64_t version, const nlohmann::json& changes) {
  Document& document = opened(uri);
  std::string text = document.text;
  for (const nlohmann::json& change : changes) apply_change(text, change);
  document.text = std::move(text);
  document.version = version;
  analyze_one(document);
  analyze_users_of(document.path);
}

void Workspace::close(const std::string& uri) {
  std::string path = opened(uri).path;
  documents_.erase(uri);
  analyze_users_of(path);
}

Document& Workspace::opened(const std::string& uri) {
  auto found = documents_.find(uri);
  if (found == documents_.end()) throw std::out_of_range("`" + uri + "` is not open");
  return found->second;
}

void Workspace::analyze_all() {
  for (auto& [uri, document] : documents_) analyze_one(document);
}

void Workspace::analyze_users_of(const std::string& path) {
  for (auto& [uri, document] : documents_) {
    if (document.path == path) continue;
    if (holds(document.analysis, path) || misses_a_file(document.analysis)) analyze_one(document);
  }
}

void Workspace::analyze_one(Document& document) const {
  CompileRequest request;
  request.path = document.path;
  request.root = root_of(document.path);
  for (const auto& [uri, other] : documents_) request.texts[other.path] = other.text;
  document.analysis = analyze(request, catalog_);
}

std::optional<std::string> Workspace::root_of(const std::string& path) const {
  if (!path.starts_with("/")) return std::nullopt;  // a buffer without a file
  if (auto root = project_root_above(path)) return root;
  for (const std::string& folder : folders_) {
    if (path.starts_with(folder + "/")) return folder;
  }
  return std::filesystem::path(path).parent_path().string();
}

const Document* Workspace::find(const std::string& uri) const {
  auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : &found->second;
}

std::string Workspace::uri_of(const std::string& path) const {
  for (const auto& [uri, document] : documents_) {
    if (document.path == path) return uri;
  }
  return path.starts_with("/") ? std::string(kFileScheme) + percent_encoded(path) : path;
}

}  // namespace rlflow::lsp
