// Single parts of declarations: devices, where a model or a data set comes from, names of a wanted kind.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ast.h"
#include "compiler/evaluate.h"
#include "compiler/pipeline.h"
#include "compiler/scope.h"
#include "runtime/contract/signature.h"

namespace rlflow {

// Adds a name; a second one in the same file is reported and left out.
// Reports a name that is declared further down, or `gsm.train` where nothing is called `gsm`; null where it is neither.
Diagnostic* report_unreachable(const Scope& scope, const std::string& name, Span span, Diagnostics& diagnostics);
bool define_symbol(Scope& scope, const ast::Name& name, const Symbol& symbol, Diagnostics& diagnostics);

// The symbol of this name and kind; null where there is none, which was reported, or is broken.
const Symbol* expect_symbol(const Scope& scope, const ast::Name& name, SymbolKind kind, Diagnostics& diagnostics);

struct DeviceRange {
  bool known = false;
  DeviceKind device = DeviceKind::cpu;
  std::int32_t first = 0;
  std::int32_t last = 1;
};
DeviceRange read_device_range(const ast::Reference& devices, Evaluator& evaluator);
// Threads, tp and dp from the group's settings; tp x dp must be the number of devices.
void share_devices(Group& group, Diagnostics& diagnostics);

// load("path"), init("path", seed=1)
bool read_model_source(const ast::Call& call, Evaluator& evaluator, Model& model);
// base_of(policy): a model declared before, trained by adapters; invalid where it is none, which was reported. `own` is
// the name of the base.
ModelId read_adapted(const ast::Call& call, const std::string& own, const Scope& scope, Pipeline& pipeline,
                     Diagnostics& diagnostics);
// trainable, dtype and head; a trainable model, and only that, has an optimizer and may have adapters.
void read_model_settings(Model& model, Diagnostics& diagnostics);

// builtin("addition"), jsonl("path"), exec("command")
void resolve_source(const ast::Call& call, const std::vector<SourceSignature>& known, SymbolKind kind,
                    Evaluator& evaluator, Source& source);

std::vector<const SettingSpec*> pointers(const std::vector<SettingSpec>& specs);

}  // namespace rlflow
