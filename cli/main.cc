// How does the program start? Global options, then one verb of the table.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "cli/diagnostic_output.h"
#include "cli/verb.h"
#include "compiler/names.h"
#include "runtime/store/store_error.h"

namespace rlflow {
namespace {

constexpr const char* kVersion = RLFLOW_VERSION;

std::string invoked_as(const char* argv0) {
  const char* given = std::getenv("RLFLOW_INVOKED_AS");
  return given != nullptr && *given != '\0' ? given : argv0;
}

std::string command_line(const std::string& program, int argc, char** argv) {
  std::string text = program;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    bool plain = argument.find_first_of(" \t\n\"'$&|;<>()*?[]{}\\#~`!") == std::string::npos && !argument.empty();
    text += plain ? " " + argument : " '" + argument + "'";
  }
  return text;
}

std::string examples(const Verb& verb, const std::string& program) {
  std::string text = "\nExamples:\n";
  std::istringstream lines(verb.example);
  for (std::string line; std::getline(lines, line);) text += "  " + program + " " + line + "\n";
  return text;
}

void add_global_options(CLI::App& app, Session& session) {
  static const std::map<std::string, Color> kColors = {
      {"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}};
  app.add_option("--color", session.color, "colour in messages: auto, always or never")
      ->transform(CLI::CheckedTransformer(kColors))
      ->option_text("WHEN");
  app.add_option_function<std::string>(
         "-C",
         [](const std::string& folder) {
           if (chdir(folder.c_str()) != 0) throw CLI::ValidationError("-C", "cannot enter " + folder);
         },
         "work in this folder")
      ->option_text("DIR")
      ->trigger_on_parse();
  app.add_flag("-q,--quiet", session.quiet, "results and errors alone");
  app.add_flag("-v,--verbose", session.verbose, "say more");
}

// "did you mean `--plain`?", or nothing where no name is close.
std::string did_you_mean(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> known;
  if (argument.starts_with("-")) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    }
  } else {
    for (const Verb& verb : verbs()) known.emplace_back(verb.name);
  }
  std::vector<std::string> close = close_names(argument, known);
  return close.empty() ? "" : "did you mean " + quoted_list(close) + "?";
}

// What the command line asked for could not be understood: one line why, one what to do, exit 2.
ExitCode usage_error(const CLI::App& app, const CLI::ParseError& error, const Session& session) {
  const CLI::App* chosen = &app;
  for (const CLI::App* verb : app.get_subcommands()) chosen = verb;
  std::string verb = chosen == &app ? "" : " " + chosen->get_name();
  std::vector<std::string> extra = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extra.empty()) {
    bool is_verb = chosen == &app && !extra.front().starts_with("-");
    std::cerr << "rlflow" << verb << ": there is no " << (is_verb ? "verb" : "argument") << " `" << extra.front()
              << "`\n";
    std::string help = did_you_mean(*chosen, extra.front());
    if (!help.empty()) std::cerr << "  = help: " << help << "\n";
  } else {
    std::cerr << "rlflow" << verb << ": " << error.what() << "\n";
  }
  std::cerr << "  = help: " << session.invoked_as << (verb.empty() ? " help" : " help" + verb) << "\n";
  return ExitCode::could_not_answer;
}

// In CLI11's order, last one first. `help VERB` becomes `VERB --help`: with global options allowed behind a verb,
// CLI11 would take the verb behind `help` for one to be run.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> given(argv + 1, argv + argc);
  const auto is_verb = [&](const Verb& verb) { return given[1] == verb.name; };
  if (given.size() == 2 && given[0] == "help" && std::any_of(verbs().begin(), verbs().end(), is_verb)) {
    given = {given[1], "--help"};
  }
  if (given.size() == 1 && given[0] == "help") given = {"--help"};
  std::reverse(given.begin(), given.end());
  return given;
}

int run_program(int argc, char** argv) {
  Session session;
  session.invoked_as = invoked_as(argv[0]);
  session.command = command_line(session.invoked_as, argc, argv);
  CLI::App app("A dataflow graph engine with a visual language for reinforcement learning of language models.",
               "rlflow");
  app.set_version_flag("--version", std::string("rlflow ") + kVersion);
  app.set_help_flag("-h,--help", "print this help");
  app.allow_extras(false);
  app.fallthrough();             // global options may follow the verb
  app.require_subcommand(0, 1);  // so that `explain retry` asks for the setting and does not name a second verb
  add_global_options(app, session);
  app.footer("\nStart here:\n  " + session.invoked_as + " run pipelines/tiny_grpo.rlflow");

  Action action;
  for (const Verb& verb : verbs()) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    sub->footer(examples(verb, session.invoked_as));
    Action declared = verb.declare(*sub, session);
    sub->callback([&action, declared] { action = declared; });
  }
  std::string help_about;
  CLI::App* help = app.add_subcommand("help", "explain a verb");
  help->add_option("verb", help_about, "the verb")->required();
  help->callback([&] {
    std::string close = did_you_mean(app, help_about);
    throw CLI::ValidationError("help", "there is no verb `" + help_about + "`" + (close.empty() ? "" : "; " + close));
  });
  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return static_cast<int>(usage_error(app, error, session));
  }
  if (!action) {
    std::cout << app.help();
    return argc > 1 ? static_cast<int>(ExitCode::could_not_answer) : 0;
  }
  try {
    return static_cast<int>(action());
  } catch (const StoreError& error) {
    print_outcome({error.code, error.code_id, error.what(), error.help, std::nullopt}, nullptr, session);
    return static_cast<int>(error.code);
  }
}

}  // namespace
}  // namespace rlflow

int main(int argc, char** argv) {
  // A closed terminal or pipe must not end a run; writes to it just fail.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  try {
    return rlflow::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "rlflow: " << error.what() << "\n";
    return 2;
  }
}
