// A settings block against the settings that its owner has.
#pragma once

#include <string>
#include <vector>

#include "compiler/ast.h"
#include "compiler/evaluate.h"
#include "compiler/overrides.h"
#include "compiler/pipeline.h"

namespace rlflow {

struct SettingsOwner {
  std::string what;                       // "`rollout`", "model `policy`"
  std::string address;                    // "traj": overrides say "traj.temperature"
  std::vector<const SettingSpec*> specs;  // all it has, the common ones included
  std::vector<std::string> arguments;     // names that belong into its ( )
  Span place;                             // where a missing one is reported
  Span call_close;                        // the closing parenthesis, for moving arguments there; may be invalid
  std::string why_no_more = {};           // why it has no others, where that needs saying
};

struct BoundSettings {
  Settings values;       // defaults filled in; optional ones without a value are absent
  bool complete = true;  // false: something was reported, or the block is broken
};

BoundSettings bind_settings(const ast::Settings* block, const SettingsOwner& owner, Evaluator& evaluator,
                            Overrides& overrides, const SourceMap& sources);

// The place of `setting` in its block together with the comma and the white space that go with it.
Span removal_span(const ast::Setting& setting, const ast::Settings& block, const SourceMap& sources);

}  // namespace rlflow
