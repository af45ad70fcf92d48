// The payloads that flow between nodes: packed, unpadded, immutable, each written as one safetensors file.
// Plain vectors, so that data and rewards can be made without torch; P, B, N as in the language reference:
// P prompts, B responses, N tokens over all responses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nodes/format/response_text.h"
#include "runtime/contract/payload.h"

namespace rlflow {

// Rows of tokens stored end to end: row i is tokens[offsets[i] .. offsets[i+1]).
struct PackedTokens {
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> offsets{0};  // rows + 1

  std::size_t rows() const { return offsets.size() - 1; }
  std::int64_t length(std::size_t row) const { return offsets[row + 1] - offsets[row]; }
  std::span<const std::int32_t> row(std::size_t i) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(length(i)));
  }
  void push_row(std::span<const std::int32_t> row_tokens) {
    tokens.insert(tokens.end(), row_tokens.begin(), row_tokens.end());
    offsets.push_back(static_cast<std::int64_t>(tokens.size()));
  }
};

// prompts[P]
struct Prompts final : Payload {
  PackedTokens tokens;                   // with bos
  std::vector<std::int64_t> source_row;  // row of the data set, or index of the generator
  std::vector<std::string> text;         // the prompt as text
  std::vector<std::string> answer;       // what a judge compares with; empty where the data has none

  Kind kind() const override { return Kind::prompts; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;
};

// examples[P]: prompt followed by response, one row each.
struct Examples final : Payload {
  PackedTokens tokens;
  std::vector<std::uint8_t> loss_mask;  // one per token: 1 = its prediction is trained on
  std::vector<std::int64_t> source_row;

  Kind kind() const override { return Kind::examples; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;
};

// What every B-typed payload shares: how responses group and how long they are.
struct BatchDescriptor {
  std::vector<std::int32_t> group;       // [B] index of the prompt; responses of one prompt are adjacent
  std::vector<std::int64_t> offsets{0};  // [B+1] into packed response tokens
  std::vector<std::uint8_t> mask;        // [N] 1 = produced by the policy and trained on
  std::vector<std::uint8_t> finish;      // [B] FinishReason
  double temperature = 1.0;              // of sampling
  std::vector<std::string> stop;         // texts that could end a response; FinishReason::stop needs some

  std::size_t size() const { return group.size(); }       // B
  std::int64_t tokens() const { return offsets.back(); }  // N
  std::int64_t length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
};

// Shared: made once by the rollout, referred to by its trajectory and everything computed from it.
using BatchPtr = std::shared_ptr<const BatchDescriptor>;

// traj[B, T]
struct Rollouts final : Payload {
  BatchPtr batch;
  std::shared_ptr<const Prompts> prompts;  // [P]; shared with the take node's output
  std::vector<std::int32_t> tokens;        // [N] responses, end token included
  std::vector<float> logprob;              // [N] of softmax(z/T) over the whole vocabulary, as sampled
  std::int64_t version = 0;                // of the weights that generated every response

  Kind kind() const override { return Kind::traj; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;
};

// pairs[P]: a prompt with a chosen and a rejected response, which are responses 2i and 2i+1 of the batch.
struct Pairs final : Payload {
  BatchPtr batch;                        // 2P responses; every token trained on
  PackedTokens prompts;                  // [P] with bos
  std::vector<std::int32_t> tokens;      // [N] responses, end token included
  std::vector<std::int64_t> source_row;  // [P]

  Kind kind() const override { return Kind::pairs; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;
};

// reward, logp, value, adv, returns: one number per response ([B]) or per response token ([N]).
struct Numbers final : Payload {
  Numbers(Kind kind, BatchPtr batch, bool per_token, std::vector<float> data);

  BatchPtr batch;
  bool per_token = false;
  std::vector<float> data;

  Kind kind() const override { return kind_; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;

 private:
  Kind kind_;
};

// scalar: JSON {"format":"rlflow.scalar/1","value":…}
struct Scalar final : Payload {
  explicit Scalar(double v) : value(v) {}
  double value;

  Kind kind() const override { return Kind::scalar; }
  std::uint64_t memory_bytes() const override { return sizeof *this; }
  void write(ByteSink& sink) const override;
};

// metrics of an update or an evaluation: JSON, names sorted.
struct Metrics final : Payload {
  std::vector<std::pair<std::string, double>> values;

  Kind kind() const override { return Kind::metrics; }
  std::uint64_t memory_bytes() const override;
  void write(ByteSink& sink) const override;
};

// Where a take node stands after this step.
struct Cursor final : Payload {
  std::int64_t epoch = 0;
  std::int64_t offset = 0;

  Kind kind() const override { return Kind::cursor; }
  std::uint64_t memory_bytes() const override { return sizeof *this; }
  void write(ByteSink& sink) const override;
};

// Name and version of a kind's bytes, which they carry: "rlflow.traj/1". Version 2 of what holds a batch has stop
// texts; a batch without any is written as version 1, so that its bytes are what they were.
std::string batch_format(Kind kind, int version = 1);

// The reverse of `write`. Throws std::runtime_error naming what is wrong with the bytes.
PayloadPtr read_batch(Kind kind, std::span<const std::byte> bytes);

}  // namespace rlflow
