// A prompt answered outside of any run: text in, text out as it is made.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "runtime/contract/model_instance.h"
#include "runtime/contract/run_api.h"

namespace rlflow {

// The model of a Hugging Face folder. Throws FormatError.
std::unique_ptr<ModelInstance> load_language_model(const std::filesystem::path& folder, std::int32_t threads);

// Fills `texts`, with the latest answer of a conversation; the tokenizer is that of `folder`. `stop` is polled at each
// token; false when it said so, with what there was in `texts`. Sample s of the same seed and settings is the same text
// anywhere. Throws std::runtime_error naming what does not fit: an empty prompt, characters the tokenizer does not
// know, too few positions, no template.
bool generate_text(const ModelInstance& model, const std::filesystem::path& folder, const GenerateRequest& request,
                   const TextObserver& observer, const std::function<bool()>& stop, GeneratedTexts& texts);

}  // namespace rlflow
