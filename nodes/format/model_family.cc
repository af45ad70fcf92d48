// The families of models that are read, and what each means by a key that its config.json does not have.
#include "nodes/format/model_family.h"

#include <array>

namespace rlflow {
namespace {

constexpr std::array<FamilyRow, 5> kRows = {{
    {ModelFamily::llama, "llama", "LlamaForCausalLM", "LlamaForSequenceClassification", "hidden_act", Activation::silu,
     0, 0, 2048, 1e4, 1e4, 0, false, 2},
    {ModelFamily::mistral, "mistral", "MistralForCausalLM", "MistralForSequenceClassification", "hidden_act",
     Activation::silu, 8, 0, 131'072, 1e4, 1e4, 4096, false, 2},
    {ModelFamily::qwen2, "qwen2", "Qwen2ForCausalLM", "Qwen2ForSequenceClassification", "hidden_act", Activation::silu,
     32, 0, 32'768, 1e4, 1e4, 4096, false, std::nullopt},
    {ModelFamily::qwen3, "qwen3", "Qwen3ForCausalLM", "Qwen3ForSequenceClassification", "hidden_act", Activation::silu,
     32, 128, 32'768, 1e4, 1e4, 4096, false, std::nullopt},
    {ModelFamily::gemma3, "gemma3_text", "Gemma3ForCausalLM", "Gemma3TextForSequenceClassification",
     "hidden_activation", Activation::gelu_tanh, 4, 256, 131'072, 1e6, 1e4, 4096, true, 1},
}};

}  // namespace

std::span<const FamilyRow> family_rows() { return kRows; }

const FamilyRow& family_row(ModelFamily family) { return kRows[static_cast<std::size_t>(family)]; }

}  // namespace rlflow
