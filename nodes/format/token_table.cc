// Hashing of short texts.
#include "nodes/format/token_table.h"

#include <bit>
#include <cstring>

namespace rlflow {
namespace {

// Eight bytes a step, mixed by multiplication; texts from files are not trusted to be spread well, only bounded.
std::uint32_t hash_of(std::string_view text) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL ^ text.size();
  while (text.size() >= 8) {
    std::uint64_t part;
    std::memcpy(&part, text.data(), 8);
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
    text.remove_prefix(8);
  }
  std::uint64_t part = 0;
  for (const char c : text) part = part << 8 | static_cast<unsigned char>(c);
  hash = (hash ^ part) * 0xc4ceb9fe1a85ec53ULL;
  return static_cast<std::uint32_t>(hash >> 32 ^ hash);
}

}  // namespace

TokenTable::TokenTable(const std::vector<std::string>& texts)
    : texts_(&texts), slots_(std::bit_ceil(2 * texts.size() + 2)) {
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (texts[id].empty() || find(texts[id]) >= 0) continue;
    const std::uint32_t hash = hash_of(texts[id]);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, static_cast<std::int32_t>(id)};
  }
}

std::int32_t TokenTable::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const std::uint32_t hash = hash_of(text);
  for (std::size_t at = hash & (slots_.size() - 1); slots_[at].id >= 0; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash == hash && (*texts_)[static_cast<std::size_t>(slots_[at].id)] == text) return slots_[at].id;
  }
  return -1;
}

}  // namespace rlflow
