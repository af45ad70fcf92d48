// Which words stand in the boxes of a picture?
#pragma once

#include <string>
#include <vector>

#include "compiler/pipeline.h"

namespace rlflow {

std::string call_text(const Pipeline& pipeline, const FlowNode& node);  // "rollout(sampler, n=8)"
std::vector<std::string> knob_texts(const FlowNode& node);              // what the program sets, one line each
std::string schedule_text(const Pipeline& pipeline,
                          const FlowNode& node);           // "every 10 steps, at start"; empty outside blocks
std::string loader_text(const Model& model);               // "load(models/tiny)"
std::vector<std::string> model_texts(const Model& model);  // "f32, trained", "adamw, lr = 0.00015"
std::string devices_text(const Group& group);              // "cpu, 2 threads"
std::string sync_text(const Sync& sync);                   // "every 1 step, lag 0"

}  // namespace rlflow
