// Which data sets there are, and how a declaration becomes one.
#include "nodes/data/dataset.h"

#include <stdexcept>

#include "nodes/data/addition.h"
#include "nodes/data/jsonl.h"

namespace rlflow {
namespace {

std::unique_ptr<Dataset> open_addition(const PlanData& data) {
  const Range digits = *value_at(data.settings, "digits").get<Range>();
  AdditionSettings settings;
  settings.min_digits = static_cast<std::int64_t>(digits.lo);
  settings.max_digits = static_cast<std::int64_t>(digits.hi);
  settings.seed = static_cast<std::uint64_t>(int_at(data.settings, "seed"));
  settings.test = text_at(data.settings, "split") == "test";
  if (has(data.settings, "size")) settings.size = int_at(data.settings, "size");
  settings.worked = real_at(data.settings, "worked");
  settings.forget_carry = real_at(data.settings, "forget_carry");
  if (has(data.settings, "question")) settings.question = text_at(data.settings, "question");
  if (has(data.settings, "prefill")) settings.prefill = text_at(data.settings, "prefill");
  return std::make_unique<Addition>(settings);
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const PlanData& data, const std::filesystem::path& root) {
  if (data.source == "builtin" && data.argument == "addition") return open_addition(data);
  if (data.source == "jsonl") return open_jsonl(data, root);
  throw std::runtime_error("data `" + data.name + "`: this build has no reader for " + data.source + "(\"" +
                           data.argument + "\")");
}

}  // namespace rlflow
