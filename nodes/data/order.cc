// In which order the rows of a data set are taken.
#include "nodes/data/order.h"

#include "runtime/contract/check.h"
#include "runtime/contract/philox.h"

namespace rlflow {

RowOrder::RowOrder(std::optional<std::int64_t> size, bool shuffle, std::uint64_t data_seed)
    : size_(size), shuffle_(shuffle), data_seed_(data_seed) {
  RLFLOW_CHECK(size_ || !shuffle_, "an unbounded order cannot be shuffled");
  RLFLOW_CHECK(!size_ || *size_ > 0, "an order of no rows");
}

std::int64_t RowOrder::next(RowPlace& place, std::uint64_t run_seed) {
  if (size_ && place.offset >= *size_) place = {place.epoch + 1, 0};
  const std::int64_t offset = place.offset++;
  if (!shuffle_) return offset;
  const auto epoch = static_cast<std::uint64_t>(place.epoch);
  const std::uint64_t key = h64(RandomPurpose::data_order, {run_seed, data_seed_, epoch});
  if (key_ != key) {
    permutation_ = permutation(*size_, PhiloxStream(key));
    key_ = key;
  }
  return permutation_[static_cast<std::size_t>(offset)];
}

}  // namespace rlflow
