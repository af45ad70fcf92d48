// The arithmetic of a generation on a GPU: rows through the transformer, draws, and whole decode steps as graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nodes/cuda/attend_pages.h"
#include "nodes/cuda/decode_linear.h"
#include "nodes/cuda/decode_rows.h"
#include "nodes/cuda/graph.h"
#include "nodes/cuda/matmul.h"
#include "nodes/cuda/sample_rows.h"
#include "nodes/model/cuda_model.h"
#include "nodes/rollout/generate.h"

namespace rlflow {

// Rows of the largest pass over prompts, and steps that a row decodes before the host looks at its tokens.
inline constexpr std::int64_t kReadRows = 4096;
inline constexpr std::int64_t kMostSteps = 16;

// What one row decoded: its tokens in order.
struct DecodedRow {
  std::int32_t count;
  std::span<const cuda::Drawn> drawn;
};

// Buffers grow and are used again. One caller at a time, of the thread that uses the model's GPU.
class CudaStep {
 public:
  struct Sizes {
    std::int64_t slots;        // most rows that decode together
    std::int64_t tables;       // page tables
    std::int64_t table_pages;  // pages of the longest
    std::int64_t pages;        // in all, for keys and values
  };

  // Bytes of a page, keys and values of all layers.
  static std::int64_t page_bytes(const CudaView& model);
  // Bytes that a page may take beside what is held already.
  std::int64_t bytes_for_pages() const;

  // To be called first, and whenever the model or the settings are others. Throws OutOfDeviceMemory.
  void start(const CudaView& model, const SamplingSettings& sampling, const Sizes& sizes);

  // From the next call on, number `at` of `table` is `page`.
  void set_page(std::int64_t table, std::int64_t at, std::int32_t page);

  // Reads rows, those of one sequence in ascending order. Then draws from the logits after rows `last`; draw.row counts
  // in `last`. Valid until the next call.
  std::span<const cuda::Drawn> read(const CudaView& model, std::span<const cuda::StepRow> rows,
                                    std::span<const std::int32_t> last, std::span<const cuda::Draw> draws);

  // Up to `steps` tokens of every row; draws[i] belongs to rows[i].
  std::vector<DecodedRow> decode(const CudaView& model, std::span<const cuda::StepRow> rows,
                                 std::span<const cuda::Draw> draws, std::int64_t steps);

  // A line for each choice that cuBLASLt's heuristic made.
  std::vector<std::string> product_choices() const { return products_.choices(); }

 private:
  void reserve_rows(const CudaView& model, std::int64_t rows);
  void reserve_draws(const CudaView& model, std::int64_t logit_rows, std::int64_t draws);
  void change_pages();
  // What the rows of a pass are: tokens of sequences in order, or the newest token of as many sequences.
  enum class Pass { read, decode };
  void layers(const CudaView& model, std::int64_t count, Pass pass);
  void attention_branch(const CudaView& model, std::int64_t layer, std::int64_t count, Pass pass);
  void attend(const CudaView& model, std::int64_t layer, std::int64_t count, Pass pass);
  void mlp_branch(const CudaView& model, std::int64_t layer, std::int64_t count);
  void head(const CudaView& model, const std::int32_t* gather, std::int64_t count);
  void draw(const CudaView& model, const cuda::Draw* draws, std::int64_t count);
  void enqueue_step(const CudaView& model, std::int64_t bucket);
  bool few_rows_serve(const CudaView& model, std::int64_t count) const;
  void few_layers(const CudaView& model, std::int64_t count);
  cuda::KvPages pages(const CudaView& model, std::int64_t layer) const;

  cuda::Stream stream_;
  cuda::MatrixProducts products_;
  Sizes sizes_{};
  bool truncated_ = false;
  // Of rows.
  cuda::DeviceBuffer rows_, hidden_, normed_, projections_, attended_, branch_, gate_up_, wide_;
  cuda::DeviceBuffer squares_;
  std::int64_t row_capacity_ = 0;
  // Of draws.
  cuda::DeviceBuffer draws_, logits_, floors_, parts_, last_, drawn_, produced_, sampler_;
  // Of sequences.
  cuda::DeviceBuffer tables_, changes_, kv_;
  std::vector<cuda::PageChange> changed_;
  cuda::PinnedBuffer staged_, returned_;

  // Graphs hold pointers and sizes: they are dropped when one of these changes.
  std::vector<const void*> captured(const CudaView& model) const;
  std::vector<const void*> captured_;
  std::map<std::int64_t, std::unique_ptr<cuda::Graph>> graphs_;  // by bucket
  std::map<std::int64_t, bool> warmed_;
};

}  // namespace rlflow
