// `rlflow generate MODEL -p "…"`: what does a model answer?
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/diagnostic_output.h"
#include "cli/json_output.h"
#include "cli/model_source.h"
#include "cli/run_folders.h"
#include "cli/run_library/load.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace rlflow {
namespace {

struct GenerateOptions {
  std::string model;
  std::string runs_dir;
  std::optional<std::string> prompt;
  GenerateRequest request;
  std::int32_t threads = 0;
  bool json = false;
  bool chat = false;
};

// Text of a model: its lines stay lines, what else could command a terminal becomes visible.
std::string shown(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t end = text.find('\n');
    result += printable(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

nlohmann::json responses_json(const GeneratedTexts& texts) {
  nlohmann::json responses = nlohmann::json::array();
  for (const GeneratedResponse& response : texts.responses) {
    nlohmann::json logprobs = nlohmann::json::array();
    for (float logprob : response.logprobs) logprobs.push_back(number_json(static_cast<double>(logprob)));
    responses.push_back({{"ids", response.ids},
                         {"text", response.text},
                         {"logprobs", logprobs},
                         {"finish_reason",
                          response.finish_reason.empty() ? nlohmann::json() : nlohmann::json(response.finish_reason)}});
  }
  return responses;
}

// One response as it is made; several each under a line of its own when all are there.
TextObserver streaming(const GenerateOptions& options) {
  if (options.json || options.request.samples > 1) return {};
  return [](std::int64_t, std::string_view piece) { std::cout << shown(piece) << std::flush; };
}

void print_texts(const GeneratedTexts& texts) {
  if (texts.responses.size() == 1) {
    std::cout << "\n";
    return;
  }
  for (std::size_t i = 0; i < texts.responses.size(); ++i) {
    const GeneratedResponse& response = texts.responses[i];
    std::cout << "--- " << i + 1 << " of " << texts.responses.size() << "  " << response.ids.size() << " tokens, "
              << (response.finish_reason.empty() ? "interrupted" : response.finish_reason) << "\n"
              << shown(response.text) << "\n";
  }
}

void print_answer(const GenerateOptions& options, const NamedModel& model, const GeneratedTexts& texts) {
  if (!options.json) return print_texts(texts);
  nlohmann::json object = {{"format", "rlflow.generate/1"},
                           {"model", options.model},
                           {"prompt_ids", texts.prompt_ids},
                           {"responses", responses_json(texts)}};
  if (model.plan) object["version"] = texts.version;
  print_json(object);
}

// False where a signal came before there was something to read.
bool wait_for_line(const PauseOnSignal& pause) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!pause.signalled()) {
    if (poll(&input, 1, 100) > 0) return true;
  }
  return false;
}

// What the user says next: the prompt alone where there is one, else a line of the standard input each.
std::function<std::optional<std::string>()> questions(const GenerateOptions& options, const PauseOnSignal& pause) {
  const bool asks = !options.prompt && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && !options.json;
  return [prompt = options.prompt, asks, &pause, &options]() mutable -> std::optional<std::string> {
    if (options.prompt) return std::exchange(prompt, std::nullopt);
    std::string line;
    while (line.empty()) {
      if (asks) std::cout << "> " << std::flush;
      if ((asks && !wait_for_line(pause)) || !std::getline(std::cin, line)) {
        if (asks) std::cout << "\n";
        return std::nullopt;
      }
    }
    return line;
  };
}

ExitCode generate(GenerateOptions& options, const Session& session) {
  RunApi& api = run_api();
  const NamedModel model = find_model(options.model, runs_folder(options.runs_dir));
  GenerateRequest& request = options.request;
  request.source = model.source;
  if (options.chat) {
    if (!options.prompt && request.samples > 1)
      throw CLI::ValidationError("-n", "a conversation goes on with one answer: give -p, or leave -n out");
    request.answered = [&](const GeneratedTexts& answer) { print_answer(options, model, answer); };
  } else {
    request.prompt = options.prompt ? *options.prompt : std::string(std::istreambuf_iterator<char>(std::cin), {});
    if (!options.prompt && request.prompt.ends_with('\n')) request.prompt.pop_back();  // of the line, not of the prompt
  }
  request.threads = options.threads > 0 ? options.threads : api.cluster().cpu_threads;
  GeneratedTexts texts;
  Outcome outcome;
  {
    const PauseOnSignal pause(api);
    if (options.chat) request.question = questions(options, pause);
    outcome = pause.with_signal(api.generate(model.plan ? &*model.plan : nullptr, request, streaming(options), texts));
  }
  // An answer of a conversation was printed when it was whole.
  const bool untold = options.chat ? outcome.code != ExitCode::yes : true;
  if (untold && (outcome.code == ExitCode::yes || !texts.responses.empty())) print_answer(options, model, texts);
  if (outcome.code != ExitCode::yes) print_outcome(outcome, nullptr, session);
  return outcome.code;
}

}  // namespace

Action declare_generate(CLI::App& app, const Session& session) {
  auto options = std::make_shared<GenerateOptions>();  // shared by the parser, which fills it, and the action
  GenerateRequest& request = options->request;
  add_model_argument(app, options->model, options->runs_dir);
  app.add_option("-p,--prompt", options->prompt, "what to answer (default: the standard input, less its last newline)")
      ->option_text("TEXT");
  CLI::Option* chat =
      app.add_flag("--chat", options->chat,
                   "talk in the model's own chat template: without -p each line of the standard input is a turn");
  app.add_option("--system", request.system, "the system message of the conversation")
      ->needs(chat)
      ->option_text("TEXT");
  app.add_option("-n", request.samples, "responses")->check(CLI::Range(1, 1 << 20))->option_text("N");
  app.add_option("--max-new", request.max_new, "most tokens of a response (default: 256, or what the positions leave)")
      ->check(CLI::Range(1, 1 << 24))
      ->option_text("N");
  app.add_option("--min-new", request.min_new, "no end before this many tokens")
      ->check(CLI::Range(0, 1 << 24))
      ->option_text("N");
  app.add_option("--temperature", request.temperature, "divides the logits; 0 takes the most likely token (default: 1)")
      ->check(CLI::Range(0.0, 1e6))
      ->option_text("T");
  app.add_option("--top-k", request.top_k, "sample from the k most likely tokens")
      ->check(CLI::Range(0, 1 << 30))
      ->option_text("K");
  app.add_option("--top-p", request.top_p, "sample from the smallest set with this probability")
      ->check(CLI::Range(1e-12, 1.0))
      ->option_text("P");
  app.add_option("--min-p", request.min_p, "drop tokens below this share of the most likely one's probability")
      ->check(CLI::Range(0.0, 1.0))
      ->option_text("P");
  app.add_option("--stop", request.stop, "end a response when its text holds this; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::Validator([](std::string& text) { return text.empty() ? "a stop text is not empty" : ""; }, ""))
      ->option_text("TEXT");
  app.add_option("--seed", request.seed, "the same seed gives the same text (default: 1)")->option_text("S");
  app.add_option("--threads", options->threads, "CPU threads (default: all)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  app.add_flag("--json", options->json,
               "print one JSON object, rlflow.generate/1, when all is there; one a turn of --chat");
  return [options, &session] { return generate(*options, session); };
}

}  // namespace rlflow
