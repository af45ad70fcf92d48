// How requests and replies are written as JSON.
#include "nodes/reward/messages.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "nodes/format/json.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

std::uint64_t id_of(const Json& reply) {
  auto found = reply.find("id");
  if (found == reply.end()) throw std::runtime_error("a reply without `id`");
  std::uint64_t id = 0;
  if (found->is_number_unsigned()) id = found->get<std::uint64_t>();
  if (id == 0) throw std::runtime_error("the reply's `id` " + found->dump() + " is none that was asked");
  return id;
}

RewardVerdict verdict_in(const Json& reply) {
  auto error = reply.find("error");
  auto reward = reply.find("reward");
  if ((error == reply.end()) == (reward == reply.end())) {
    throw std::runtime_error("a reply holds either `reward` or `error`");
  }
  if (error != reply.end()) {
    if (!error->is_string()) throw std::runtime_error("the reply's `error` is no text");
    return no_verdict("the program says: " + printable_line(error->get<std::string>()));
  }
  if (!reward->is_number()) return no_verdict("the reward " + reward->dump() + " is not a number");
  const double value = reward->get<double>();
  if (std::isfinite(value) && std::abs(value) <= kLargestReward) return verdict_of(value);
  return no_verdict("the reward " + reward->dump() + " is larger than 1e6 in magnitude");
}

}  // namespace

std::string request_line(std::uint64_t id, std::size_t more, const RewardRequest& request) {
  Json line = {{"id", id},
               {"more", more},
               {"prompt", std::string(request.prompt)},
               {"response", std::string(request.response)},
               {"answer", std::string(request.answer)},
               {"ended", request.ended},
               {"row", request.row.empty() ? Json::object() : parse_json(request.row, "the data row")}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RewardReply read_reply(std::string_view line) {
  const Json reply = parse_json(line, "the reply");
  if (!reply.is_object()) throw std::runtime_error("the reply is no JSON object");
  for (const auto& [name, value] : reply.items()) {
    if (name != "id" && name != "reward" && name != "error" && name != "info") {
      throw std::runtime_error("the reply has a field " + json_quoted(name) + ", which means nothing");
    }
  }
  return {id_of(reply), verdict_in(reply)};
}

std::string printable_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::string json = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string line;
  for (char c : Json::parse(json).get<std::string>()) {
    if (c == '\n')
      line += " | ";
    else
      line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return line;
}

}  // namespace rlflow
