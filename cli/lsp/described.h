// What is told about a name, a setting or a node of the program: its declaration with types and numbers, its doc.
#pragma once

#include <string>

#include "cli/lsp/name_index.h"
#include "compiler/pipeline.h"
#include "runtime/contract/signature.h"

namespace rlflow::lsp {

// As the setting `head` has it.
const char* head_name(Head head);

// A node's output and the node that makes it; null where the program has no such output.
struct OutputPlace {
  const FlowNode* node = nullptr;
  const NodeOutput* output = nullptr;
};
OutputPlace output_at(const Pipeline& pipeline, Span name_span);

// "adv[B=256]", "traj[B=256, T=34]": dimensions with their numbers where the program fixes them.
std::string sized_type(const Pipeline& pipeline, const NodeOutput& output);

// One line of program text: "param steps : int = 100 in 1..10000". Empty where the definition is broken.
std::string declaration_line(const Definition& definition, const Pipeline& pipeline);
// Markdown: the line, then doc, default, origin and range.
std::string describe(const Definition& definition, const Pipeline& pipeline);

std::string describe(const SettingSpec& spec, const std::string& owner, const Setting* value);
std::string describe(const NodeSignature& signature);
std::string describe(const SourceSignature& source);
std::string describe(const CallSpec& call);
// "- `B` = 256, made by `traj`": its size or bound where the program fixes one.
std::string describe(const Dim& dim, const Pipeline& pipeline);
// "trajectories: sampled responses, …"
std::string describe(Kind kind);

}  // namespace rlflow::lsp
