// What a task hands to its successors: an immutable value that can be written to bytes and hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/contract/digest.h"
#include "runtime/contract/port_type.h"

namespace rlflow {

// Receives bytes in order; may throw std::runtime_error (disk full), which the writer passes through.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> data) = 0;
};

class VectorSink final : public ByteSink {
 public:
  void write(std::span<const std::byte> data) override { bytes.insert(bytes.end(), data.begin(), data.end()); }
  std::vector<std::byte> bytes;
};

class HashSink final : public ByteSink {
 public:
  void write(std::span<const std::byte> data) override {
    hasher_.bytes(data);
    size_ += data.size();
  }
  Digest finish() { return hasher_.finish(); }
  std::uint64_t size() const { return size_; }

 private:
  Hasher hasher_;
  std::uint64_t size_ = 0;
};

// Immutable once made, so any number of threads may read it. `write` gives the same bytes every time;
// its SHA-256 is the artifact's name. The bytes are a safetensors file (tensors) or JSON (scalars,
// metrics, cursors).
class Payload {
 public:
  virtual ~Payload() = default;
  virtual Kind kind() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;  // for back-pressure; an estimate is enough
  virtual void write(ByteSink& sink) const = 0;
};

// Shared: the engine, several successors and the writer thread hold one payload at once.
using PayloadPtr = std::shared_ptr<const Payload>;

}  // namespace rlflow
