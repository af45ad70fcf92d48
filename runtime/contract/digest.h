// Digests: SHA-256 of bytes and of typed fields, and the order-free 128-bit digest of weights.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rlflow {

// A SHA-256 digest. All zero means "not computed".
struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

std::string hex(const Digest& digest);                         // 64 lower-case hex digits
std::optional<Digest> digest_from_hex(std::string_view text);  // nullopt unless exactly 64 hex digits

// Incremental SHA-256. `field_*` calls are length- and type-prefixed, so two field sequences collide
// only if they are equal; `bytes` is raw. Not thread-safe; one per thread.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& bytes(std::span<const std::byte> data);
  Hasher& field(std::string_view text);
  Hasher& field(std::int64_t number);
  Hasher& field(const Digest& digest);
  Digest finish();  // the hasher must not be used afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::span<const std::byte> data);
Digest sha256(std::string_view text);

// Sum of mix128 over the elements of all tensors of a model, modulo 2^128: independent of order,
// layout and sharding.
struct WeightsDigest {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend bool operator==(const WeightsDigest&, const WeightsDigest&) = default;

  WeightsDigest& operator+=(const WeightsDigest& other) {
    lo += other.lo;
    hi += other.hi + (lo < other.lo ? 1 : 0);
    return *this;
  }
};

std::string hex(const WeightsDigest& digest);  // 32 hex digits, most significant first
std::optional<WeightsDigest> weights_digest_from_hex(std::string_view text);

}  // namespace rlflow
