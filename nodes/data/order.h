// In which order the rows of a data set are taken, epoch after epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rlflow {

// A place in the endless sequence of epochs.
struct RowPlace {
  std::int64_t epoch = 0;
  std::int64_t offset = 0;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

// Each row exactly once an epoch; batches straddle epochs. With `shuffle` an epoch's order is a permutation by
// (run seed, data seed, epoch); that of the last epoch asked for is remembered. One thread at a time.
class RowOrder {
 public:
  // size: rows of an epoch, nullopt: unbounded. A shuffled order needs a size (programmer's mistake otherwise).
  RowOrder(std::optional<std::int64_t> size, bool shuffle, std::uint64_t data_seed);

  // The index of the row at `place`, which moves on.
  std::int64_t next(RowPlace& place, std::uint64_t run_seed);

 private:
  std::optional<std::int64_t> size_;
  bool shuffle_;
  std::uint64_t data_seed_;
  std::optional<std::uint64_t> key_;  // of the permutation held
  std::vector<std::int64_t> permutation_;
};

}  // namespace rlflow
