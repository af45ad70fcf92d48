// Which files did a run begin with, and are they still the same?
#pragma once

#include <string>
#include <vector>

#include "runtime/contract/node_library.h"
#include "runtime/contract/run_api.h"
#include "runtime/store/task_store.h"

namespace rlflow {

// Hashes the files of models and data; StoreError R0208 names one that cannot be read.
std::vector<HashedFile> hash_source_files(const Plan& plan, NodeLibrary& library);
// StoreError R0208 where the file changed, naming it.
void require_unchanged(const std::string& root, const HashedFile& file);
// The checkpoint of version 0: names of the source files with their hashes, no copy.
std::string origin_manifest(const std::vector<HashedFile>& files);

}  // namespace rlflow
