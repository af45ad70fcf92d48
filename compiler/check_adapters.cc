// Whether adapters fit the linear layers of their model.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "compiler/check.h"
#include "nodes/format/format_error.h"
#include "nodes/format/model_config.h"

namespace rlflow {
namespace {

// Empty where it cannot be read, which is told elsewhere.
std::optional<ModelConfig> config_of(const std::filesystem::path& folder) {
  try {
    return read_model_config(folder);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

// The shorter side of a linear layer.
std::int64_t side(const std::string& layer, const ModelConfig& config) {
  if (layer == "q_proj" || layer == "o_proj") return std::min(config.hidden_size, config.query_size());
  if (layer == "k_proj" || layer == "v_proj") return std::min(config.hidden_size, config.kv_size());
  return std::min(config.hidden_size, config.intermediate_size);
}

void check_rank(const CheckInput& input, const Model& model, const Setting& lora, Diagnostics& diagnostics) {
  const CallValue* call = lora.value.get<CallValue>();
  if (call == nullptr) return;
  const std::optional<ModelConfig> config = config_of(std::filesystem::path(input.pipeline.root) / model.path);
  if (!config) return;
  const std::int64_t rank = int_at(call->named, "rank");
  for (const Value& target : *value_at(call->named, "targets").get<List>()) {
    const std::string& layer = target.get<Word>()->name;
    const std::int64_t most = side(layer, *config);
    if (rank <= most) continue;
    diagnostics
        .error("E0313", lora.span,
               "`rank` of `lora` must be at most " + std::to_string(most) + ", the shorter side of `" + layer + "`")
        .label("this is " + std::to_string(rank))
        .note("an addition of full rank has no fewer parameters than the layer of `" + model.path + "` itself")
        .help("take a smaller `rank`, 8 to 64 is usual, or leave `" + layer + "` out of `targets`");
    return;
  }
}

}  // namespace

void check_adapters(const CheckInput& input, Diagnostics& diagnostics) {
  for (ModelId id : usage_of(input.pipeline).models) {
    const Model& model = input.pipeline.models[id.index()];
    auto lora = model.settings.find("lora");
    if (model.known && lora != model.settings.end()) check_rank(input, model, lora->second, diagnostics);
  }
}

}  // namespace rlflow
