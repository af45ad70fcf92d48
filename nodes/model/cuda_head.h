// The head of the transformer on a GPU: final norm, logits in blocks or values, and their gradient.
#pragma once

#include <cstdint>

#include "nodes/model/cuda_transformer.h"

namespace rlflow {

// Reads the output of the pass that `workspace` has just run. Grows and is used again.
class CudaHead {
 public:
  // Log-probability (and entropy, unless null) of each target under softmax(logits·inverse_temperature), in the order
  // of the chunk's targets; in host memory when it returns.
  void logprobs(const CudaView& model, CudaWorkspace& workspace, float inverse_temperature, Keep keep, float* logprob,
                float* entropy);
  // After logprobs that kept: adds the head's part to `gradient` and leaves dL/doutput in activations.gradient.
  void logprobs_backward(const CudaView& model, CudaWorkspace& workspace, float inverse_temperature,
                         const float* dlogprob, const float* dentropy, float* gradient);

  // The same for a value head.
  void values(const CudaView& model, CudaWorkspace& workspace, Keep keep, float* value);
  void values_backward(const CudaView& model, CudaWorkspace& workspace, const float* dvalue, float* gradient);

 private:
  void norm_rows(const CudaView& model, CudaWorkspace& workspace);
  void norm_rows_backward(const CudaView& model, CudaWorkspace& workspace, float* gradient);
  void compute_logits(const CudaView& model, CudaWorkspace& workspace, std::int64_t begin, std::int64_t count);
  void fetch(const CudaChunk& chunk, const float* from, float* to, const cuda::Stream& stream);
  void send(const CudaChunk& chunk, const float* from, float* to, const cuda::Stream& stream);

  cuda::DeviceBuffer normed_, dnormed_;  // [head rows, hidden]
  cuda::DeviceBuffer scales_;            // f32[head rows]
  cuda::DeviceBuffer logits_;            // f32[block, vocabulary]
  cuda::DeviceBuffer softmax_;           // RowSoftmax[head rows]
  cuda::DeviceBuffer numbers_;           // f32[2, targets]: log-probabilities and entropies, or their gradients
  cuda::DeviceBuffer row_numbers_;       // f32[head rows]
  cuda::PinnedBuffer host_;              // f32[targets]
};

}  // namespace rlflow
