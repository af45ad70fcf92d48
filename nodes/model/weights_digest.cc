// The order-free digest of weights: what a version is known by.
#include "nodes/model/weights_digest.h"

#include <algorithm>
#include <vector>

#include "nodes/model/cpu/kernels.h"
#include "nodes/model/lanes.h"
#include "runtime/contract/philox.h"

namespace rlflow {

WeightsDigest mix128(std::uint64_t id, std::uint64_t index, std::uint64_t bits) {
  const std::uint64_t k = id + index * 0x9e3779b97f4a7c15ULL;
  const std::uint64_t lo = mix64(k ^ mix64(bits + 0x9e3779b97f4a7c15ULL));
  return {lo, mix64(lo + k + 0xd1b54a32d192ed03ULL)};
}

WeightsDigest digest_of(std::uint64_t id, const float* values, std::int64_t count, std::int32_t threads, Dtype dtype) {
  constexpr std::int64_t kPart = 1 << 18;
  std::vector<WeightsDigest> parts(static_cast<std::size_t>((count + kPart - 1) / kPart));
  run_lanes(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t part) {
    const std::int64_t first = part * kPart, size = std::min(kPart, count - first);
    WeightsDigest total;
    if (dtype == Dtype::bf16) {
      for (std::int64_t i = first; i < first + size; ++i)
        total += mix128(id, static_cast<std::uint64_t>(i), std::bit_cast<std::uint32_t>(values[i]) >> 16);
    } else {
      const cpu::DigestSums sums =
          cpu::kernels().digest_sums(id, static_cast<std::uint64_t>(first), values + first, size);
      total = {sums.lo_low, sums.hi};
      total += {sums.lo_high << 32, sums.lo_high >> 32};
    }
    parts[static_cast<std::size_t>(part)] = total;
  });
  WeightsDigest total;
  for (const WeightsDigest& part : parts) total += part;
  return total;
}

}  // namespace rlflow
