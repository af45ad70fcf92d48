// What flows along an edge: the kind of a value. Kinds keep equal shapes apart (a reward is not an advantage).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlflow {

enum class Kind {
  prompts,   // [P]     token ids, source row, answer, group id
  examples,  // [P]     prompt and response tokens with a loss mask
  pairs,     // [P]     prompt, chosen, rejected
  traj,      // [B, T]  sampled responses with their sampling log-probs
  reward,    // [B] or [B, T] f32
  logp,      // [B, T] f32
  value,     // [B, T] f32
  adv,       // [B] or [B, T] f32
  returns,   // [B, T] f32
  scalar,    // one f64
  metrics,   // named f64
  cursor,    // epoch and offset of a take node; never named in a program
};

inline constexpr Kind kAllKinds[] = {Kind::prompts, Kind::examples, Kind::pairs,   Kind::traj,
                                     Kind::reward,  Kind::logp,     Kind::value,   Kind::adv,
                                     Kind::returns, Kind::scalar,   Kind::metrics, Kind::cursor};

constexpr std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::prompts: return "prompts";
    case Kind::examples: return "examples";
    case Kind::pairs: return "pairs";
    case Kind::traj: return "traj";
    case Kind::reward: return "reward";
    case Kind::logp: return "logp";
    case Kind::value: return "value";
    case Kind::adv: return "adv";
    case Kind::returns: return "returns";
    case Kind::scalar: return "scalar";
    case Kind::metrics: return "metrics";
    case Kind::cursor: return "cursor";
  }
  return "?";
}

constexpr std::optional<Kind> kind_from_name(std::string_view name) {
  for (Kind kind : kAllKinds) {
    if (kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

// The type of an output as a finished Plan shows it: dimension names are for display ("B", "T"),
// their identity was checked by the compiler.
struct PortType {
  Kind kind = Kind::metrics;
  std::vector<std::string> dims;

  friend bool operator==(const PortType&, const PortType&) = default;
};

std::string to_text(const PortType& type);  // "traj[B, T]"

}  // namespace rlflow
