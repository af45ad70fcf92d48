// Sums of two numbers with equally many digits, as prompts, answers and responses of a hasty or a careful person.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nodes/data/dataset.h"
#include "runtime/contract/philox.h"

namespace rlflow {

struct AdditionSettings {
  std::int64_t min_digits = 2;
  std::int64_t max_digits = 3;  // at most 9
  std::uint64_t seed = 0;
  bool test = false;  // only the held-out tenth of all sums; otherwise only the others
  std::optional<std::int64_t> size;
  double worked = 1;                  // share of responses that work column by column
  double forget_carry = 0;            // chance that any other response forgets a carry
  std::string question = "{a}+{b}=";  // the prompt, with both numbers
  std::string prefill = {};           // of the assistant's turn, likewise
};

// Row i is a function of (seed, split, i): a number of digits, each as likely as the others, then two numbers of that
// many digits without a leading zero, which alone are drawn again until the pair is of the split.
class Addition final : public Dataset {
 public:
  explicit Addition(AdditionSettings settings);
  std::optional<std::int64_t> size() const override { return settings_.size; }
  DataRow row(std::int64_t index) const override;

 private:
  AdditionSettings settings_;
};

// Whether a pair belongs to the tenth that only `split = test` shows: a mixing hash, since a linear one would hold out
// sums of a visible pattern.
bool held_out(std::uint64_t a, std::uint64_t b);

// `<7+6=13 4+8+1=13 3+5+1=9>933`: columns from the last digit, each with the carry it received, then the sum.
std::string worked_response(std::uint64_t a, std::uint64_t b);

// The sum of column addition that forgets each carry with probability `forget`, the final one included: `823`.
std::string hasty_response(std::uint64_t a, std::uint64_t b, double forget, PhiloxStream& stream);

}  // namespace rlflow
