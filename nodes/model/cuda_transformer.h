// The transformer on a GPU: packed rows to hidden states to log-probabilities, and back. The counterpart of
// transformer.h; the same functions of parameters, on device memory and one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nodes/cuda/attention.h"
#include "nodes/cuda/heads.h"
#include "nodes/cuda/matmul.h"
#include "nodes/cuda/norm.h"
#include "nodes/cuda/timing.h"
#include "nodes/model/cuda_chunk.h"
#include "nodes/model/cuda_model.h"

namespace rlflow {

// Whether a backward pass follows, which needs the activations of every layer.
enum class Keep { nothing, activations };

// Buffers for R rows, in the type of the model's activations where not f32. Those of a pass that keeps nothing are
// shared by all layers. Grows and is used again.
class CudaActivations {
 public:
  struct Layer {
    void* input = nullptr;              // [R, hidden]
    float* attention_scales = nullptr;  // f32[R]
    void* query_key = nullptr;          // [R, query_size + kv_size] before the norms of heads, where there are some
    float* head_scales = nullptr;       // f32[R, heads + kv_heads]
    void* projections = nullptr;        // [R, query_size + 2·kv_size], turned
    void* attended = nullptr;           // [R, query_size]
    float* log_sums = nullptr;          // f32[R, heads]
    void* attention_branch = nullptr;   // [R, hidden] before its norm, where branches have norms
    float* attention_branch_scales = nullptr;
    void* middle = nullptr;       // [R, hidden], after attention
    float* mlp_scales = nullptr;  // f32[R]
    void* gate_up = nullptr;      // [R, 2·intermediate_size]
    void* mlp_branch = nullptr;   // as attention_branch
    float* mlp_branch_scales = nullptr;
  };
  void reserve(const CudaView& model, std::int64_t rows, Keep keep);

  std::vector<Layer> layers;
  void* output = nullptr;  // [R, hidden], before the final norm
  void* normed = nullptr;  // scratch [R, hidden]
  void* wide = nullptr;    // scratch [R, max(intermediate_size, width of projections)]
  // Of the backward pass.
  void* gradient = nullptr;       // [R, hidden]
  void* branch = nullptr;         // scratch [R, hidden], where branches have norms
  void* wide_gradient = nullptr;  // scratch as wide
  float* deltas = nullptr;        // scratch f32[R, heads]

 private:
  using Take = std::function<void*(std::int64_t numbers, std::int64_t bytes_each)>;  // a row
  void place(const CudaView& model, Keep keep, const Take& take);
  cuda::DeviceBuffer storage_;
};

// What passes on one GPU have in common: the stream, products and scratch. One caller at a time.
struct CudaWorkspace {
  cuda::Stream stream;
  cuda::MatrixProducts products;
  CudaActivations activations;
  CudaChunk chunk;
  cuda::DeviceBuffer partials;  // of sums over rows
  cuda::PhaseTimer* timer = nullptr;

  void mark(const char* phase) {
    if (timer != nullptr) timer->mark(phase, stream);
  }
};

cuda::AttentionShape attention_shape(const CudaView& model, std::int64_t layer);

// Runs all layers over the uploaded chunk; leaves activations.output and, where kept, the activations of every layer.
void forward(const CudaView& model, CudaWorkspace& workspace, Keep keep);

// With dL/doutput in activations.gradient, adds dL/dparameters to `gradient` f32, laid out as the parameters.
void backward(const CudaView& model, CudaWorkspace& workspace, float* gradient);

}  // namespace rlflow
