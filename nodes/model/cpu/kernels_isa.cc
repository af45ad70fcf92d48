// The table of kernels for one instruction set; compiled once for each, with RLFLOW_ISA as its name.
#include "nodes/model/cpu/attention.h"
#include "nodes/model/cpu/digest.h"
#include "nodes/model/cpu/kernels.h"
#include "nodes/model/cpu/product.h"
#include "nodes/model/cpu/rows.h"
#include "nodes/model/cpu/token.h"
#include "nodes/model/cpu/truncation.h"

namespace rlflow::cpu::RLFLOW_ISA {

extern const Kernels kTable;
constinit const Kernels kTable = {
    .product = product,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .rope = rope,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .geglu = geglu,
    .geglu_backward = geglu_backward,
    .attend = attend,
    .attend_paged = attend_paged,
    .attend_backward = attend_backward,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .sample_token = sample_token,
    .sampling_floor = sampling_floor,
    .likeliest_token = likeliest_token,
    .adamw = adamw,
    .sum_of_squares = sum_of_squares,
    .add = add,
    .digest_sums = digest_sums,
};

}  // namespace rlflow::cpu::RLFLOW_ISA
