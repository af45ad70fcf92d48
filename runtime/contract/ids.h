// Distinct integer ids, so that a node index cannot stand where a model index is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace rlflow {

// An index into one of the Plan's vectors. `value < 0` means "none".
template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::int32_t>(v)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;
using GroupId = Id<struct GroupTag>;
using ModelId = Id<struct ModelTag>;
using ReplicaId = Id<struct ReplicaTag>;
using DataId = Id<struct DataTag>;
using RewardId = Id<struct RewardTag>;
using FileId = Id<struct FileTag>;

// Steps count from 1; step 0 holds what runs "at start" on version 0.
using Step = std::int64_t;
// Version k of a trainable model is made by step k; version 0 is the loaded one.
using Version = std::int64_t;

}  // namespace rlflow

template <class Tag>
struct std::hash<rlflow::Id<Tag>> {
  std::size_t operator()(rlflow::Id<Tag> id) const noexcept { return std::hash<std::int32_t>{}(id.value); }
};
