// How adapters are written as a folder that PEFT reads.
#include "nodes/model/peft_export.h"

#include <cmath>

#include "nodes/format/json.h"
#include "nodes/model/weights_export.h"

namespace rlflow {

void write_peft_folder(const std::filesystem::path& folder, const std::filesystem::path& base,
                       const LoraSettings& settings, const std::vector<TensorView>& adapters) {
  nlohmann::json config = {{"peft_type", "LORA"},
                           {"task_type", "CAUSAL_LM"},
                           {"base_model_name_or_path", std::filesystem::absolute(base).lexically_normal().string()},
                           {"r", settings.rank},
                           {"target_modules", settings.targets},
                           {"lora_dropout", 0.0},
                           {"bias", "none"},
                           {"fan_in_fan_out", false},
                           {"use_rslora", false},
                           {"use_dora", false},
                           {"init_lora_weights", true},
                           {"modules_to_save", nullptr},
                           {"inference_mode", true}};
  // PEFT declares it a whole number.
  if (settings.alpha == std::floor(settings.alpha) && settings.alpha < 1e9) {
    config["lora_alpha"] = static_cast<std::int64_t>(settings.alpha);
  } else {
    config["lora_alpha"] = settings.alpha;
  }
  write_text(folder / "adapter_config.json", config.dump(2) + "\n");
  write_safetensors_file(folder / "adapter_model.safetensors", adapters);
}

}  // namespace rlflow
