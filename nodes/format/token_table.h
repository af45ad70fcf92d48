// Which token is written with these bytes?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rlflow {

// An open-addressing table over texts that it borrows: `texts` must outlive it and stay where it is.
class TokenTable {
 public:
  TokenTable() = default;
  // Every text that is not empty, by its place in `texts`. Of equal texts the first is found.
  explicit TokenTable(const std::vector<std::string>& texts);

  std::int32_t find(std::string_view text) const;  // -1: none

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;
  };
  const std::vector<std::string>* texts_ = nullptr;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace rlflow
