// Which programs are open in the editor, and what does the compiler say about each?
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace rlflow::lsp {

// "file:///a/b%20c.rlflow" -> "/a/b c.rlflow". Any other URI is its own path.
std::string path_of_uri(const std::string& uri);

struct Document {
  std::string uri;
  std::string path;
  std::string text;
  std::int64_t version = 0;
  Analysis analysis;  // of the program that begins with this text; file 0 is the text itself
};

// The open buffers. They stand for their files in every analysis. Owned by one thread.
class Workspace {
 public:
  explicit Workspace(const Catalog& catalog) : catalog_(catalog) {}  // borrowed

  // Absolute, as the editor has them open.
  void set_folders(std::vector<std::string> folders);
  void open(const std::string& uri, std::int64_t version, std::string text);
  // These two throw std::out_of_range where the document is not open.
  void change(const std::string& uri, std::int64_t version, const nlohmann::json& changes);
  void close(const std::string& uri);
  void analyze_all();

  const Document* find(const std::string& uri) const;  // null where it is not open
  const std::map<std::string, Document>& documents() const { return documents_; }
  // As the editor spelt it where it is open.
  std::string uri_of(const std::string& path) const;

 private:
  Document& opened(const std::string& uri);
  // Those whose program holds the file, which may be all of them.
  void analyze_users_of(const std::string& path);
  void analyze_one(Document& document) const;
  // The project that the file belongs to by its marks, else the editor's folder around it, else its own folder.
  std::optional<std::string> root_of(const std::string& path) const;

  const Catalog& catalog_;
  std::vector<std::string> folders_;
  std::map<std::string, Document> documents_;  // by URI
};

}  // namespace rlflow::lsp
