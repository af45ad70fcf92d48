// Does every file include only what its layer may include? The table below is the law (docs/architecture.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace rlflow {
namespace {

namespace fs = std::filesystem;

// `own`: prefixes of project paths a file of this folder may include, itself besides.
// The first row whose folder is a prefix of the file's path decides, so longer folders stand first.
struct Layer {
  std::string folder;
  std::vector<std::string> own;
};

const std::vector<Layer> kLayers = {
    {"runtime/contract/", {}},
    {"runtime/store/", {"runtime/contract/"}},
    {"runtime/engine/", {"runtime/store/", "runtime/contract/"}},
    {"nodes/signatures/", {"runtime/contract/"}},
    {"nodes/format/", {"runtime/contract/"}},
    {"nodes/algo/", {}},
    {"nodes/comm/", {}},
    {"nodes/cuda/", {}},
    {"nodes/model/", {"nodes/algo/", "nodes/comm/", "nodes/cuda/", "nodes/format/", "runtime/contract/"}},
    {"nodes/rollout/",
     {"nodes/model/", "nodes/algo/", "nodes/comm/", "nodes/cuda/", "nodes/format/", "runtime/contract/"}},
    {"nodes/data/", {"nodes/format/", "runtime/contract/"}},
    {"nodes/reward/", {"nodes/format/", "runtime/contract/"}},
    {"nodes/", {"runtime/contract/"}},
    {"compiler/", {"nodes/format/", "runtime/contract/"}},
    {"viz/", {"compiler/pipeline.h", "compiler/place.h", "runtime/contract/"}},
    {"cli/", {"compiler/", "nodes/", "runtime/", "viz/"}},
};

// A third-party header pattern and the files (path prefixes) that may include it.
struct ThirdParty {
  std::string header;
  std::vector<std::string> users;
};

const std::vector<ThirdParty> kThirdParty = {
    {"(antlr4|RlFlow(Lexer|Parser|BaseVisitor|Visitor)).*", {"compiler/parse.cc"}},
    {"toml\\+\\+/.*", {"compiler/override_file.cc"}},
    {"sqlite3\\.h", {"runtime/store/database.cc", "runtime/store/page_sums.cc"}},
    {"(tbb|oneapi)/.*", {"runtime/engine/tbb_graph.cc", "runtime/engine/device_groups.cc"}},
    {"openssl/.*", {"runtime/contract/digest.cc"}},
    {"pcre2\\.h", {"nodes/format/pattern.cc"}},
    {"utf8proc\\.h", {"nodes/format/unicode_text.cc"}},
    {"nlohmann/.*", {"nodes/format/", "cli/"}},
    {"(cuda.*|cublas.*|mma\\.h|nv.*\\.h)", {"nodes/cuda/"}},
    {"(graphviz/.*|gvc\\.h|cgraph\\.h)", {"viz/render.cc"}},
    {"CLI/.*", {"cli/"}},
    {"(ATen|c10)/.*", {"nodes/algo/", "nodes/model/", "nodes/rollout/", "nodes/comm/", "nodes/cuda/", "nodes/"}},
    {"torch/.*", {"nodes/model/", "nodes/rollout/", "nodes/comm/", "nodes/cuda/", "nodes/"}},
};

// Folders that may not know torch although they stand below nodes/.
const std::vector<std::string> kNoTorch = {"nodes/signatures/", "nodes/format/", "nodes/data/", "nodes/reward/"};

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

const Layer* layer_of(const std::string& path) {
  for (const Layer& layer : kLayers) {
    if (path.starts_with(layer.folder)) return &layer;
  }
  return nullptr;
}

std::string own_include_fault(const std::string& path, const std::string& header) {
  const Layer* layer = layer_of(path);
  if (layer == nullptr || header.starts_with(layer->folder) || starts_with_any(header, layer->own)) return "";
  return path + " may not include " + header + " (layer " + layer->folder + ")";
}

std::string third_party_fault(const std::string& path, const std::string& header) {
  for (const ThirdParty& rule : kThirdParty) {
    if (!std::regex_match(header, std::regex(rule.header))) continue;
    bool torch = header.starts_with("ATen/") || header.starts_with("c10/") || header.starts_with("torch/");
    if (!starts_with_any(path, rule.users) || (torch && starts_with_any(path, kNoTorch))) {
      return path + " may not include <" + header + ">";
    }
  }
  return "";
}

// Every forbidden include of the tree, as one sentence each.
std::vector<std::string> layering_faults(const fs::path& root) {
  std::vector<std::string> faults;
  const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  for (const Layer& layer : kLayers) {
    if (!fs::exists(root / layer.folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / layer.folder)) {
      std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc" && extension != ".cu") continue;
      std::string path = fs::relative(entry.path(), root).generic_string();
      if (layer_of(path) != &layer) continue;  // a longer row owns it
      std::ifstream file(entry.path());
      std::string line;
      while (std::getline(file, line)) {
        std::smatch match;
        if (!std::regex_match(line, match, include)) continue;
        std::string header = match[1];
        bool own = fs::exists(root / header);
        std::string fault = own ? own_include_fault(path, header) : third_party_fault(path, header);
        if (!fault.empty()) faults.push_back(fault);
      }
    }
  }
  return faults;
}

TEST(Layering, TheProjectKeepsItsTable) {
  for (const std::string& fault : layering_faults(RLFLOW_SOURCE_DIR)) ADD_FAILURE() << fault;
}

// Two types of one name in one namespace are one type to the linker: it merges their implicit functions, silently.
std::vector<std::string> names_declared_twice(const fs::path& root) {
  const std::regex type(R"(^(?:struct|class) (\w+)(?: final)?(?: :.*)?(?: \{.*)?$)");
  std::map<std::string, std::string> first;
  std::vector<std::string> twice;
  for (const char* folder : {"runtime", "nodes", "compiler", "viz", "cli"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h") continue;
      std::string path = fs::relative(entry.path(), root).generic_string();
      std::ifstream file(entry.path());
      std::string scope;
      for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (line.starts_with("namespace ")) scope = line;
        if (!std::regex_match(line, match, type)) continue;
        auto [known, fresh] = first.emplace(scope + match[1].str(), path);
        if (!fresh && known->second != path) twice.push_back(match[1].str() + ": " + known->second + ", " + path);
      }
    }
  }
  return twice;
}

TEST(Layering, EveryTypeNameIsDeclaredOnce) {
  for (const std::string& fault : names_declared_twice(RLFLOW_SOURCE_DIR)) ADD_FAILURE() << fault;
}

// The test of the test: a small tree with one forbidden include of each sort.
class LayeringOfATree : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / "layering_tree";
    fs::remove_all(root_);
    write("runtime/contract/plan.h", "");
    write("runtime/store/database.h", "");
    write("nodes/batches.h", "");
    write("compiler/compile.cc", "#include \"runtime/contract/plan.h\"\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(LayeringOfATree, AllowedIncludesPass) { EXPECT_EQ(layering_faults(root_), std::vector<std::string>{}); }

TEST_F(LayeringOfATree, CompilerMayNotSeeTheStore) {
  write("compiler/check.cc", "#include \"runtime/store/database.h\"\n");
  EXPECT_EQ(layering_faults(root_),
            std::vector<std::string>{"compiler/check.cc may not include runtime/store/database.h (layer compiler/)"});
}

TEST_F(LayeringOfATree, ContractPointsNowhere) {
  write("runtime/contract/node.h", "#include \"nodes/batches.h\"\n");
  EXPECT_EQ(layering_faults(root_).size(), 1u);
}

TEST_F(LayeringOfATree, SqliteHasOneDoor) {
  write("runtime/store/task_store.cc", "#include <sqlite3.h>\n");
  EXPECT_EQ(layering_faults(root_),
            std::vector<std::string>{"runtime/store/task_store.cc may not include <sqlite3.h>"});
  fs::remove(root_ / "runtime/store/task_store.cc");
  write("runtime/store/database.cc", "#include <sqlite3.h>\n");
  EXPECT_EQ(layering_faults(root_), std::vector<std::string>{});
}

TEST_F(LayeringOfATree, ATypeNameUsedTwiceIsFound) {
  write("compiler/source.h", "namespace rlflow {\nstruct SourceFile {\n};\n}\n");
  EXPECT_EQ(names_declared_twice(root_), std::vector<std::string>{});
  write("runtime/store/task_store.h", "namespace rlflow {\nstruct SourceFile {\n};\n}\n");
  EXPECT_EQ(names_declared_twice(root_).size(), 1u);
}

TEST_F(LayeringOfATree, RewardsKnowNoTorch) {
  write("nodes/reward/exact_answer.cc", "#include <ATen/ATen.h>\n");
  EXPECT_EQ(layering_faults(root_).size(), 1u);
}

}  // namespace
}  // namespace rlflow
