// Does sharing a product out over threads leave its bits alone?
#include "nodes/model/linear.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

std::vector<float> draw(std::int64_t count, std::uint64_t seed) {
  PhiloxStream stream(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// Sizes that are no multiples of tiles, wide and tall, deep enough for several blocks.
TEST(Linear, ThreadsChangeNoBitOfAProduct) {
  for (const auto& [rows, inputs, outputs] :
       {std::array<std::int64_t, 3>{197, 601, 403}, {403, 167, 1805}, {9, 1537, 2999}, {1801, 570, 133}}) {
    const std::vector<float> x = draw(rows * inputs, 1), dy = draw(rows * outputs, 2), w = draw(outputs * inputs, 3);
    const auto results = [&](std::int32_t threads) {
      std::vector<float> dx(static_cast<std::size_t>(rows * inputs)), dw(static_cast<std::size_t>(outputs * inputs));
      linear_input_gradient(w.data(), outputs, inputs, dy.data(), rows, dx.data(), false, threads);
      linear_weight_gradient(dy.data(), outputs, x.data(), inputs, rows, dw.data(), threads);
      dx.insert(dx.end(), dw.begin(), dw.end());
      return dx;
    };
    const std::vector<float> alone = results(1);
    for (std::int32_t threads : {2, 3, 7}) EXPECT_EQ(results(threads), alone) << threads << " threads";
  }
}

// Deeper than a block: the sum over depth goes on in one order, checked against a plain double sum.
TEST(Linear, DeepProductsAgreeWithThePlainSum) {
  const std::int64_t rows = 31, outputs = 35, inputs = 700;
  const std::vector<float> x = draw(rows * inputs, 4), w = draw(outputs * inputs, 5), dy = draw(rows * outputs, 6);
  std::vector<float> dx(static_cast<std::size_t>(rows * inputs), 1.0f);
  linear_input_gradient(w.data(), outputs, inputs, dy.data(), rows, dx.data(), true, 1);
  const std::vector<float> tall = draw(600 * 20, 7), left = draw(600 * 13, 8);
  std::vector<float> dw(13 * 20);
  linear_weight_gradient(left.data(), 13, tall.data(), 20, 600, dw.data(), 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < inputs; ++j) {
      double sum = 1;
      for (std::int64_t t = 0; t < outputs; ++t) {
        sum += static_cast<double>(dy[static_cast<std::size_t>(i * outputs + t)]) *
               w[static_cast<std::size_t>(t * inputs + j)];
      }
      ASSERT_NEAR(dx[static_cast<std::size_t>(i * inputs + j)], sum, 1e-4);
    }
  }
  for (std::int64_t i = 0; i < 13; ++i) {
    for (std::int64_t j = 0; j < 20; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < 600; ++t) {
        sum += static_cast<double>(left[static_cast<std::size_t>(t * 13 + i)]) *
               tall[static_cast<std::size_t>(t * 20 + j)];
      }
      ASSERT_NEAR(dw[static_cast<std::size_t>(i * 20 + j)], sum, 1e-3);
    }
  }
}

}  // namespace
}  // namespace rlflow
