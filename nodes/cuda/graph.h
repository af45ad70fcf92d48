// Work that a stream was given once, to be given again at the cost of one launch.
#pragma once

#include <functional>

#include "nodes/cuda/device.h"

struct CUgraphExec_st;

namespace rlflow::cuda {

// Pointers and sizes are those of the capture. Not thread-safe.
class Graph {
 public:
  // Records what `enqueue` gives to `stream`; nothing of it runs. Throws CudaFailure.
  Graph(const Stream& stream, const std::function<void()>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const Stream& stream) const;

 private:
  CUgraphExec_st* executable_ = nullptr;
};

}  // namespace rlflow::cuda
