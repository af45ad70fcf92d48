// dlopen of the run library, and signals that reach it.
#include "cli/run_library/load.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

constexpr const char* kLibrary = "librlflow_run.so";

// A signal handler can reach nothing but these.
std::atomic<RunApi*> signalled_api{nullptr};
std::atomic<int> first_signal{0};

extern "C" void on_pause_signal(int number) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) _exit(128 + number);
  if (RunApi* api = signalled_api.load()) api->request_pause();
}

StoreError no_library(const std::string& why) {
  return StoreError(ExitCode::could_not_answer, "R0001", std::string("cannot open ") + kLibrary + ": " + why,
                    "`./dev build` makes it beside the program");
}

RunApi* open_library() {
  // Threads that spin while another process has their core cost more than they save.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / kLibrary;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw no_library(dlerror());
  auto open = reinterpret_cast<OpenRunApi>(dlsym(library, kRunApiSymbol));
  if (open == nullptr) throw no_library(std::string("it has no ") + kRunApiSymbol);
  RunApi* api = open(kRunApiVersion);
  if (api == nullptr) throw no_library("it was built for another version of this program");
  return api;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

}  // namespace

RunApi& run_api() {
  static RunApi* api = open_library();
  return *api;
}

PauseOnSignal::PauseOnSignal(RunApi& api) {
  first_signal = 0;
  signalled_api = &api;
  handle(SIGINT, on_pause_signal);
  handle(SIGTERM, on_pause_signal);
}

PauseOnSignal::~PauseOnSignal() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
  signalled_api = nullptr;
}

bool PauseOnSignal::signalled() const { return first_signal != 0; }

Outcome PauseOnSignal::with_signal(Outcome outcome) const {
  int number = first_signal;
  bool paused = outcome.code == ExitCode::interrupted || outcome.code == ExitCode::terminated;
  if (number != 0 && paused) outcome.code = number == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  return outcome;
}

}  // namespace rlflow
