// Who watches a run and writes about it: plain lines, a live view, or JSON lines.
#pragma once

#include <memory>
#include <string>

#include "cli/console/run_view.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "runtime/contract/run_api.h"

namespace rlflow {

enum class ConsoleForm { plain, live, json };

// Live on a terminal unless --plain; JSON lines with --json.
ConsoleForm console_form(bool plain, bool json, const Session& session);

// `reference` is how printed next commands name the run. Borrows plan and session. `finish` ends the live view and says
// what happened; call it once, after the run.
class Console : public RunObserver {
 public:
  virtual void finish(const Outcome& outcome) = 0;
};

std::unique_ptr<Console> make_console(ConsoleForm form, const Plan& plan, const Session& session,
                                      const std::string& reference);

}  // namespace rlflow
