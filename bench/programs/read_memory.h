// A pass over device memory that only reads.
#pragma once

#include <cstdint>

#include "nodes/cuda/device.h"

namespace rlflow::bench {

// `bytes` a multiple of 16; sink: 4 bytes of device memory.
void read_memory(const rlflow::cuda::Stream& stream, const void* from, std::int64_t bytes, void* sink);

}  // namespace rlflow::bench
