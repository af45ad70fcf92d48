// Do models that hand each other tokens read them with the same tokenizer?
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "compiler/check.h"
#include "nodes/format/file.h"
#include "nodes/format/format_error.h"
#include "nodes/format/json.h"
#include "nodes/format/tokenizer.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;

// Null where it cannot be read.
std::optional<std::string> tokenizer_of(const fs::path& folder) {
  try {
    return read_text_file(folder / "tokenizer.json", kMaxTokenizerBytes);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

class TokenizerCheck {
 public:
  TokenizerCheck(const CheckInput& input, Diagnostics& diagnostics)
      : pipeline_(input.pipeline), diagnostics_(diagnostics) {}

  void run() {
    for (std::size_t n = 0; n < pipeline_.nodes.size(); ++n) {
      const FlowNode& node = pipeline_.nodes[n];
      // A node with a tokenizer of its own, as a judge that is a model, reads the text.
      if (!is_live(node) || !node.model.valid() || node.signature->needs_tokenizer) continue;
      const FlowNode* writer = token_writer(node, 0);
      if (writer != nullptr) compare(*writer, node);
    }
  }

 private:
  // The node with a model that made the tokens this node reads; null where they are of no model.
  const FlowNode* token_writer(const FlowNode& reader, std::size_t depth) const {
    if (depth > pipeline_.nodes.size()) return nullptr;
    for (const NodeInput& input : reader.inputs) {
      if (input.from != NodeInput::From::edge) continue;
      const FlowNode& maker = pipeline_.node(input.node);
      const NodeOutput& output = maker.outputs[static_cast<std::size_t>(input.port)];
      if (!output.known || !carries_tokens(output.kind)) continue;
      if (maker.model.valid()) return &maker;
      if (const FlowNode* further = token_writer(maker, depth + 1)) return further;
    }
    return nullptr;
  }

  const std::optional<std::string>& tokenizer(const std::string& path) {
    auto [found, fresh] = read_.try_emplace(path);
    if (fresh) found->second = tokenizer_of(fs::path(pipeline_.root) / path);
    return found->second;
  }

  void compare(const FlowNode& writer, const FlowNode& reader) {
    const Model& wrote = pipeline_.models[writer.model.index()];
    const Model& reads = pipeline_.models[reader.model.index()];
    if (wrote.path.empty() || reads.path.empty() || wrote.path == reads.path) return;
    const auto& one = tokenizer(wrote.path);
    const auto& other = tokenizer(reads.path);
    if (!one || !other || equal_json(*one, *other)) return;  // a missing file is told elsewhere
    if (!told_.emplace(wrote.path, reads.path).second) return;
    diagnostics_
        .error("E0608", reader.op_span,
               "`" + reads.name + "` reads tokens of `" + wrote.name + "`, whose tokenizer is another")
        .at(writer.op_span, "these tokens are of `" + wrote.path + "`")
        .at(reads.path_span, "has its own tokenizer.json")
        .note("the same number would be another word, and every log-probability would be of another text")
        .help("take a model of the same family; a judge of another one stands in `score`, which reads text");
  }

  const Pipeline& pipeline_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::optional<std::string>> read_;  // by folder
  std::set<std::pair<std::string, std::string>> told_;
};

}  // namespace

void check_tokenizers(const CheckInput& input, Diagnostics& diagnostics) { TokenizerCheck(input, diagnostics).run(); }

}  // namespace rlflow
