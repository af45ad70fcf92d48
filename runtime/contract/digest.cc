// SHA-256 through libcrypto: the only file that includes it.
#include "runtime/contract/digest.h"

#include <openssl/evp.h>

#include "runtime/contract/check.h"

namespace rlflow {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

bool parse_hex(std::string_view text, std::span<std::uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    int high = nibble(text[2 * i]);
    int low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  RLFLOW_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "SHA-256 is not available");
}
Hasher::~Hasher() = default;

Hasher& Hasher::bytes(std::span<const std::byte> data) {
  RLFLOW_CHECK(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1, "SHA-256 update");
  return *this;
}

Hasher& Hasher::field(std::string_view text) {
  std::uint64_t size = text.size();
  bytes(std::as_bytes(std::span("s", 1)));
  bytes(std::as_bytes(std::span(&size, 1)));
  return bytes(std::as_bytes(std::span(text.data(), text.size())));
}

Hasher& Hasher::field(std::int64_t number) {
  bytes(std::as_bytes(std::span("i", 1)));
  return bytes(std::as_bytes(std::span(&number, 1)));
}

Hasher& Hasher::field(const Digest& digest) {
  bytes(std::as_bytes(std::span("d", 1)));
  return bytes(std::as_bytes(std::span(digest.bytes)));
}

Digest Hasher::finish() {
  Digest digest;
  unsigned size = 0;
  RLFLOW_CHECK(EVP_DigestFinal_ex(state_->context, digest.bytes.data(), &size) == 1 && size == 32, "SHA-256 final");
  return digest;
}

Digest sha256(std::span<const std::byte> data) {
  Hasher hasher;
  hasher.bytes(data);
  return hasher.finish();
}

Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text.data(), text.size()))); }

std::string hex(const Digest& digest) { return hex_of(digest.bytes); }

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest;
  if (!parse_hex(text, digest.bytes)) return std::nullopt;
  return digest;
}

std::string hex(const WeightsDigest& digest) {
  std::array<std::uint8_t, 16> bytes;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(digest.hi >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(digest.lo >> (56 - 8 * i));
  }
  return hex_of(bytes);
}

std::optional<WeightsDigest> weights_digest_from_hex(std::string_view text) {
  std::array<std::uint8_t, 16> bytes;
  if (!parse_hex(text, bytes)) return std::nullopt;
  WeightsDigest digest;
  for (std::size_t i = 0; i < 8; ++i) {
    digest.hi = digest.hi << 8 | bytes[i];
    digest.lo = digest.lo << 8 | bytes[8 + i];
  }
  return digest;
}

}  // namespace rlflow
