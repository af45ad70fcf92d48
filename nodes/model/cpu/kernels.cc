// Which table of kernels this processor can run.
#include "nodes/model/cpu/kernels.h"

namespace rlflow::cpu {

namespace baseline {
extern const Kernels kTable;
}
#ifdef __x86_64__
namespace avx2 {
extern const Kernels kTable;
}
namespace avx512 {
extern const Kernels kTable;
}
#endif

const Kernels& kernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4")) return avx512::kTable;
  if (__builtin_cpu_supports("x86-64-v3")) return avx2::kTable;
#endif
  return baseline::kTable;
}

const char* kernels_name() {
  const Kernels* table = &kernels();
#ifdef __x86_64__
  if (table == &avx512::kTable) return "avx512";
  if (table == &avx2::kTable) return "avx2";
#endif
  return table == &baseline::kTable ? "baseline" : "?";
}

}  // namespace rlflow::cpu
