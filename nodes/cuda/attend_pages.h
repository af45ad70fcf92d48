// Attention of single rows over their pages in bf16, on tensor cores.
#pragma once

#include "nodes/cuda/decode_rows.h"

namespace rlflow::cuda {

bool attend_pages_serves(const PagedShape& shape, Element element);

// What attend_rows does, for projections that store_rows has gone over.
void attend_stored_pages(const Stream& stream, const StepRow* rows, int count, const float* projections,
                         const PagedShape& shape, const KvPages& pages, void* out);

// What store_rows and attend_rows do together, for rows of as many sequences.
void store_and_attend_pages(const Stream& stream, const StepRow* rows, int count, const float* projections,
                            const void* bias, const PagedShape& shape, const HeadNorms& norms, const Rotary& rotary,
                            const KvPages& pages, void* out);

}  // namespace rlflow::cuda
