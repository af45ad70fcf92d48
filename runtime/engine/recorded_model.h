// How is a model of a recorded run brought back without touching the run? For replay and export.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/executor.h"
#include "runtime/engine/model_restore.h"
#include "runtime/store/file_layer.h"

namespace rlflow {

// A run opened for reading: nothing is written, no lock is taken.
struct RecordedSession {
  RecordedSession(const Plan& plan, const std::filesystem::path& run_dir, NodeLibrary& library, FileLayer& files);

  StepGraph graph;
  Database database;
  ArtifactStore artifacts;
  RecordedParts parts;
};

// The model at `version`, restored in memory of its own on its group's thread. `redone` gets a line for each
// update that was done again. Throws StoreError where the record does not give the version any more.
std::unique_ptr<ModelInstance> recorded_model(RecordedSession& session, Executor& executor, ModelId model,
                                              Version version, std::vector<std::string>& redone);

}  // namespace rlflow
