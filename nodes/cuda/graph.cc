// Capture and replay of CUDA graphs.
#include "nodes/cuda/graph.h"

#include "nodes/cuda/status.h"

namespace rlflow::cuda {

Graph::Graph(const Stream& stream, const std::function<void()>& enqueue) {
  cudaGraph_t graph = nullptr;
  require(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    enqueue();
  } catch (...) {
    (void)cudaStreamEndCapture(stream.get(), &graph);
    if (graph) (void)cudaGraphDestroy(graph);
    throw;
  }
  require(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  (void)cudaGraphDestroy(graph);
  require(status, "cudaGraphInstantiate");
}

Graph::~Graph() { (void)cudaGraphExecDestroy(executable_); }

void Graph::launch(const Stream& stream) const {
  require(cudaGraphLaunch(executable_, stream.get()), "cudaGraphLaunch");
}

}  // namespace rlflow::cuda
