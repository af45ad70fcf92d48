// What must hold of any bytes that claim to be a file of a model folder.
#include "tests/fuzz/model_file_properties.h"

#include <span>

#include "nodes/format/model_config.h"
#include "nodes/format/safetensors.h"

namespace rlflow::testing {
namespace {

std::string out_of_bounds(const ModelConfig& config) {
  if (config.vocab_size < 2 || config.hidden_size < 2 || config.layers < 1 || config.max_positions < 1) return "a size";
  if (config.kv_heads < 1 || config.heads % config.kv_heads != 0) return "heads";
  if (config.head_dim < 2 || config.head_dim % 2 != 0) return "head_dim";
  if (config.sliding.size() != static_cast<std::size_t>(config.layers)) return "the number of sliding layers";
  if (config.with_token_head() <= 0 || config.with_score_head() <= 0) return "a count of parameters";
  for (float frequency : rope_frequencies(config.rope, config.head_dim)) {
    if (!(frequency > 0) || !(frequency <= 1e3f)) return "a RoPE frequency";
  }
  for (std::int32_t id : config.end_ids) {
    if (id < 0 || id >= config.vocab_size) return "an end id";
  }
  return "";
}

}  // namespace

std::string broken_config_property(std::string_view text) {
  try {
    const ModelConfig config = parse_model_config(text);
    const std::string fault = out_of_bounds(config);
    if (!fault.empty()) return "out of bounds: " + fault;
    try {
      const ModelConfig again = parse_model_config(exported_model_config(config, false));
      if (again.rope != config.rope || again.local_rope != config.local_rope || again.sliding != config.sliding ||
          again.with_token_head() != config.with_token_head() || again.end_ids != config.end_ids) {
        return "what is exported reads as another model";
      }
    } catch (const FormatError& error) {
      return std::string("what is exported is refused: ") + error.what();
    }
  } catch (const FormatError&) {
  }
  return "";
}

std::string broken_safetensors_property(std::string_view bytes) {
  try {
    const SafetensorsFile file(std::as_bytes(std::span(bytes)), "file");
    std::size_t total = 0;
    unsigned sum = 0;
    for (const TensorView& tensor : file.tensors()) {
      if (file.find(tensor.name) != &tensor) return "a tensor is not found by its name";
      total += tensor.data.size();
      for (std::byte byte : tensor.data) sum += std::to_integer<unsigned>(byte);
    }
    if (total > bytes.size()) return "tensors are larger than the file, sum " + std::to_string(sum);
  } catch (const FormatError&) {
  }
  return "";
}

}  // namespace rlflow::testing
