// Compiles what a run recorded.
#include "cli/recorded_program.h"

#include <algorithm>

#include "cli/program_difference.h"
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

Compilation recorded_compilation(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster,
                                 const std::string& program) {
  if (run.sources.empty()) throw unusable(run, "none is recorded");
  CompileRequest request;
  request.path = program.empty() ? run.sources.front().path : program;
  if (program.empty()) {
    for (const PlanSource& source : run.sources) request.texts[source.path] = source.text;
    request.only_texts = true;
  }
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
  if (compilation.plan) return compilation;
  std::string errors = render_all(compilation.analysis.diagnostics, compilation.analysis.sources);
  if (program.empty() && more.empty()) throw unusable(run, "it does not compile\n" + errors);
  throw StoreError(compilation.analysis.readable ? ExitCode::no : ExitCode::could_not_answer, "R0217",
                   "this does not compile as the program of run `" + run.name + "`\n" + errors,
                   "the run is as it was; mend what the messages name");
}

Plan recorded_plan(const RecordedRun& run, const std::vector<std::string>& more, const Cluster* cluster) {
  Compilation compilation = recorded_compilation(run, more, cluster);
  if (compilation.plan->meaning == run.meaning) return std::move(*compilation.plan);
  std::string changes = more.empty()
                            ? std::string("  (another version of rlflow recorded it)\n")
                            : to_text(program_differences(recorded_compilation(run, {}, cluster), compilation));
  throw StoreError(
      ExitCode::could_not_answer, "R0215",
      "this would no longer be the run `" + run.name + "`; it would change\n" + changes,
      "stop, retries, timeouts, workers and keep may change on resume; `fork` makes another run of the rest");
}

Digest prev_init_digest(double init) { return sha256(NumberRecord{"rlflow.scalar/1", {{"value", init}}}.text()); }

}  // namespace rlflow
