// How are node kinds, settings and sources of the catalog described to a person and to a program?
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/contract/signature.h"

namespace rlflow {

// "1..100", "> 0", "f32 | bf16", "tokens": what may stand behind `=`.
std::string values_text(const SettingSpec& spec);
// "0.2", "required", "none"
std::string default_text(const SettingSpec& spec);

// "update(model, traj, adv, [old=], [ref=]) -> metrics"
std::string call_text(const NodeSignature& signature);

// Usage, inputs, settings; no line wider than `width`.
std::string describe_node(const NodeSignature& signature, std::size_t width);
std::string describe_source(const SourceSignature& source, const std::string& declaration, std::size_t width);
std::string describe_call(const CallSpec& call, std::size_t width);
std::string settings_text(const std::vector<SettingSpec>& settings, std::size_t width);

nlohmann::json setting_json(const SettingSpec& spec);
nlohmann::json node_json(const NodeSignature& signature);
nlohmann::json source_json(const SourceSignature& source);

}  // namespace rlflow
