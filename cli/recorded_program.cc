// Compiles what a run recorded.
#include "cli/recorded_program.h"

#include <algorithm>

#include "nodes/format/number_record.h"
#include "nodes/signatures/catalog.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

StoreError unusable(const RecordedRun& run, const std::string& why) {
  return StoreError(ExitCode::store_damaged, "R0214", "the program of run `" + run.name + "` cannot be used: " + why,
                    "the recorded sources are in its folder under program/");
}

std::string address_of(const std::string& override_text) { return override_text.substr(0, override_text.find('=')); }

}  // namespace

Plan recorded_plan(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster) {
  if (run.sources.empty()) throw unusable(run, "none is recorded");
  CompileRequest request;
  request.path = run.sources.front().path;
  for (const PlanSource& source : run.sources) request.texts[source.path] = source.text;
  request.only_texts = true;
  request.root = run.root;
  for (const std::string& recorded : run.overrides) {
    auto changed = [&recorded](const std::string& text) { return address_of(text) == address_of(recorded); };
    if (std::none_of(more.begin(), more.end(), changed)) request.overrides.push_back(recorded);
  }
  request.overrides.insert(request.overrides.end(), more.begin(), more.end());
  request.mode = CompileMode::run;
  request.cluster = cluster;
  static const Catalog kCatalog = catalog();
  Compilation compilation = compile(request, kCatalog);
  if (!compilation.plan) {
    throw unusable(
        run, "it does not compile\n" + render_all(compilation.analysis.diagnostics, compilation.analysis.sources));
  }
  if (compilation.plan->meaning != run.meaning) {
    throw StoreError(
        ExitCode::could_not_answer, "R0215",
        "this would no longer be the run `" + run.name + "`: its program would mean something else",
        "only stop, retries, timeouts, workers and keep may change on resume; start a new run for the rest");
  }
  return std::move(*compilation.plan);
}

Digest prev_init_digest(double init) { return sha256(NumberRecord{"rlflow.scalar/1", {{"value", init}}}.text()); }

}  // namespace rlflow
