// A prompt answered outside of any run: text in, text out as it is made.
#include "nodes/generate_text.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "nodes/model/backend.h"
#include "nodes/prompt_encoder.h"
#include "nodes/rollout/generate.h"
#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr std::int64_t kMaxNew = 256;  // where nothing is asked for

// Bytes of `text` up to the last whole character. What a decoder writes for half of one, U+FFFD, may still change.
std::size_t whole_characters(std::string_view text) {
  std::size_t end = text.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(4, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if (length > back) end = text.size() - back;
    break;
  }
  while (text.substr(0, end).ends_with("\xEF\xBF\xBD")) end -= 3;
  return end;
}

// What of a response has been told, and what may be.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stop) : tokenizer_(tokenizer), stop_(stop) {
    for (const std::string& text : stop) held_ = std::max(held_, text.size() - 1);
  }

  std::string more(const Response& response, bool finished) {
    const FinishReason finish = finished ? response.finish : FinishReason::length;
    std::string text = response_text(tokenizer_, response.tokens, finish, stop_);
    if (!finished)
      text.resize(whole_characters(std::string_view(text).substr(0, text.size() - std::min(held_, text.size()))));
    if (text.size() <= told_) return "";
    std::string piece = text.substr(told_);
    told_ = text.size();
    return piece;
  }

 private:
  const Tokenizer& tokenizer_;
  const std::vector<std::string>& stop_;
  std::size_t held_ = 0, told_ = 0;
};

std::int64_t max_new_of(const GenerateRequest& request, const ModelConfig& config, std::size_t prompt) {
  const std::int64_t room = config.max_positions - static_cast<std::int64_t>(prompt);
  if (room < 1) {
    throw std::runtime_error("the prompt has " + std::to_string(prompt) + " tokens, and the model has " +
                             std::to_string(config.max_positions) +
                             " positions (max_position_embeddings); shorten the prompt");
  }
  return request.max_new.value_or(std::min(room, kMaxNew));
}

GenerationSettings settings_of(const GenerateRequest& request, const ModelConfig& config, std::size_t prompt) {
  GenerationSettings settings;
  settings.samples = request.samples;
  settings.sampling = {max_new_of(request, config, prompt),
                       request.min_new,
                       request.temperature,
                       request.top_k,
                       request.top_p,
                       request.min_p};
  if (request.min_new > settings.sampling.max_new) {
    throw std::runtime_error("at least " + std::to_string(request.min_new) + " tokens are more than the most, " +
                             std::to_string(settings.sampling.max_new));
  }
  settings.run_seed = request.seed;
  settings.threads = request.threads;
  return settings;
}

// A model and what it is asked with.
class Speaker {
 public:
  Speaker(const LanguageModel& model, const Tokenizer& tokenizer, const GenerateRequest& request)
      : model_(model), tokenizer_(tokenizer), request_(request), generator_(make_generator(DeviceKind::cpu)) {}

  // Fills `texts` with answers to texts.prompt_ids; `turn` chooses the noise. False when stopped.
  bool answer(const std::vector<std::string>& stop_texts, std::uint64_t turn, const TextObserver& observer,
              const std::function<bool()>& stop, GeneratedTexts& texts) {
    if (texts.prompt_ids.empty())
      throw std::runtime_error("the prompt is empty, and the tokenizer begins with no token");
    GenerationSettings settings = settings_of(request_, model_.config(), texts.prompt_ids.size());
    settings.step = turn;
    const StopTexts ends(tokenizer_, stop_texts);
    if (!stop_texts.empty()) settings.stop_texts = &ends;
    std::stop_source stopping;
    settings.stop = stopping.get_token();
    std::vector<TextStream> streams(static_cast<std::size_t>(request_.samples), {tokenizer_, stop_texts});
    settings.extended = [&](std::int64_t response, const Response& so_far, bool finished) {
      if (stop()) stopping.request_stop();
      const std::string piece = streams[static_cast<std::size_t>(response)].more(so_far, finished);
      if (observer && !piece.empty()) observer(response, piece);
    };
    std::vector<Response> responses;
    const std::vector<std::span<const std::int32_t>> prompts{texts.prompt_ids};
    const bool whole = generator_->run(model_, prompts, settings, responses);
    for (Response& response : responses) {
      const bool ended = whole || response.finish != FinishReason::length;
      texts.responses.push_back({response.tokens, response.logprob,
                                 response_text(tokenizer_, response.tokens, response.finish, stop_texts),
                                 ended ? finish_name(response.finish) : ""});
    }
    return whole;
  }

 private:
  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  const GenerateRequest& request_;
  std::unique_ptr<Generator> generator_;
};

bool is_end(const ModelConfig& config, std::int32_t id) {
  return std::find(config.end_ids.begin(), config.end_ids.end(), id) != config.end_ids.end();
}

ChatTemplate template_of(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  try {
    ChatTemplate chat = read_chat_template(folder);
    check_markers(chat, tokenizer);
    return chat;
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + ". Without --chat the prompt is read as it stands");
  }
}

bool converse(Speaker& speaker, const ModelConfig& config, const std::filesystem::path& folder,
              const Tokenizer& tokenizer, const GenerateRequest& request, const TextObserver& observer,
              const std::function<bool()>& stop, GeneratedTexts& texts) {
  const ChatTemplate chat = template_of(folder, tokenizer);
  std::vector<std::string> stop_texts = request.stop;
  // The token that ends a turn ends the answer, also of a model that was not told so.
  if (!chat.end_of_turn.empty() && !is_end(config, *tokenizer.id_of(chat.end_of_turn)))
    stop_texts.push_back(chat.end_of_turn);
  std::vector<ChatMessage> messages;
  if (!request.system.empty()) messages.push_back({"system", request.system});
  for (std::uint64_t turn = 0; const std::optional<std::string> question = request.question(); ++turn) {
    messages.push_back({"user", *question});
    texts.prompt_ids = conversation_ids(tokenizer, chat, messages, "");
    if (!speaker.answer(stop_texts, turn, observer, stop, texts)) return false;
    messages.push_back({"assistant", texts.responses.front().text});
    request.answered(texts);
    texts.responses.clear();
  }
  return !stop();
}

}  // namespace

std::unique_ptr<ModelInstance> load_language_model(const std::filesystem::path& folder, std::int32_t threads) {
  return load_model(folder, {.threads = threads});
}

bool generate_text(const ModelInstance& instance, const std::filesystem::path& folder, const GenerateRequest& request,
                   const TextObserver& observer, const std::function<bool()>& stop, GeneratedTexts& texts) {
  const auto* model = dynamic_cast<const LanguageModel*>(&instance);
  RLFLOW_CHECK(model, "not a language model");
  if (model->layout().kind != Head::lm) throw std::runtime_error("the model has no language head, so it cannot write");
  const Tokenizer tokenizer = read_tokenizer(folder);
  Speaker speaker(*model, tokenizer, request);
  if (request.question) {
    return converse(speaker, model->config(), folder, tokenizer, request, observer, stop, texts);
  }
  texts.prompt_ids = tokenizer.encode_prompt(request.prompt);
  return speaker.answer(request.stop, 0, observer, stop, texts);
}

}  // namespace rlflow
