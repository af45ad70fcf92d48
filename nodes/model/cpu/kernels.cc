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

namespace {

#ifdef __x86_64__
constexpr KernelTable kTables[] = {
    {"avx512", &avx512::kTable}, {"avx2", &avx2::kTable}, {"baseline", &baseline::kTable}};

// How many of the first tables need more than this processor has.
std::size_t unsupported() {
  if (__builtin_cpu_supports("x86-64-v4")) return 0;
  return __builtin_cpu_supports("x86-64-v3") ? 1 : 2;
}
#else
constexpr KernelTable kTables[] = {{"baseline", &baseline::kTable}};

std::size_t unsupported() { return 0; }
#endif

}  // namespace

std::span<const KernelTable> supported_kernels() { return std::span(kTables).subspan(unsupported()); }

const Kernels& kernels() { return *supported_kernels().front().kernels; }

const char* kernels_name() { return supported_kernels().front().name; }

}  // namespace rlflow::cpu
