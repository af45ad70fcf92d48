// `rlflow generate MODEL -p "…"`: what does a model answer?
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

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

ExitCode generate(GenerateOptions& options, const Session& session) {
  RunApi& api = run_api();
  const NamedModel model = find_model(options.model, runs_folder(options.runs_dir));
  GenerateRequest& request = options.request;
  request.source = model.source;
  request.prompt = options.prompt ? *options.prompt : std::string(std::istreambuf_iterator<char>(std::cin), {});
  if (!options.prompt && request.prompt.ends_with('\n')) request.prompt.pop_back();  // of the line, not of the prompt
  request.threads = options.threads > 0 ? options.threads : api.cluster().cpu_threads;
  GeneratedTexts texts;
  Outcome outcome;
  {
    const PauseOnSignal pause(api);
    outcome = pause.with_signal(api.generate(model.plan ? &*model.plan : nullptr, request, streaming(options), texts));
  }
  const bool answered = outcome.code == ExitCode::yes || !texts.responses.empty();
  if (answered && options.json) {
    nlohmann::json object = {{"format", "rlflow.generate/1"},
                             {"model", options.model},
                             {"prompt_ids", texts.prompt_ids},
                             {"responses", responses_json(texts)}};
    if (model.plan) object["version"] = texts.version;
    print_json(object);
  } else if (answered) {
    print_texts(texts);
  }
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
  app.add_flag("--json", options->json, "print one JSON object, rlflow.generate/1, when all is there");
  return [options, &session] { return generate(*options, session); };
}

}  // namespace rlflow
