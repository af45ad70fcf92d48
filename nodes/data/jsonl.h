// A file with one JSON object a line, as a data set.
#pragma once

#include <filesystem>
#include <memory>

#include "nodes/data/dataset.h"

namespace rlflow {

// Row i is the i-th line that is not blank. Every line is read once when the file is opened, so that a fault is named
// by its line before anything runs. With `size` only the first rows count. The settings name the fields; each field
// named must stand in every row: as a text or a number; the prompt also as a conversation, a list of {role, content};
// a response also as a list with one message of the assistant. With `malformed = skip` lines that are not so are left
// out, as long as they are the fewer. Throws FormatError naming file, line and field.
std::unique_ptr<Dataset> open_jsonl(const PlanData& data, const std::filesystem::path& root);

}  // namespace rlflow
