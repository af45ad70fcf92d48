// A model in memory as the engine sees it: something with versions, digests and bytes, not layers.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/digest.h"
#include "runtime/contract/payload.h"

namespace rlflow {

// One trainable model, frozen model or replica copy. The engine never lets a writer (update, load)
// run beside a reader of the same instance; implementations need no locks.
class ModelInstance {
 public:
  virtual ~ModelInstance() = default;

  // Digest of the parameters alone: what `versions.wdigest` holds and every sync compares. Of a model with adapters it
  // covers them and the base, which never changes.
  virtual WeightsDigest weights_digest() const = 0;
  // Digest of everything the next update depends on: parameters, optimizer moments, counters.
  // For a frozen model or a replica it covers the parameters.
  virtual Digest state_digest() const = 0;

  // A checkpoint is one file a part, safetensors each: {"parameters"} for a frozen model,
  // {"parameters", "optimizer"} for a trainable one; they hold what is trained, in f32. `load` checks names, shapes and
  // dtypes before it touches memory and throws std::runtime_error with tensor and offset.
  virtual std::vector<std::string> parts() const = 0;
  virtual void save(std::string_view part, ByteSink& sink) const = 0;
  virtual void load(std::string_view part, std::span<const std::byte> bytes) = 0;

  // A frozen copy of the parameters on the same device ("f32", "bf16").
  virtual std::unique_ptr<ModelInstance> copy_for_replica(std::string_view dtype) const = 0;

  // Writes a Hugging Face folder (config.json, model.safetensors, tokenizer files); `folder` exists and is empty. A
  // model with adapters writes them alone, as a PEFT folder; export_merged adds them to the base and writes all of it.
  virtual void export_folder(const std::filesystem::path& folder) const = 0;
  virtual void export_merged(const std::filesystem::path& folder) const { export_folder(folder); }

  // Name of the first tensor that differs from `bytes` (a saved "parameters" part), empty if equal.
  virtual std::string first_difference(std::span<const std::byte> bytes) const = 0;
};

}  // namespace rlflow
