// The three products of a linear layer y = x·Wᵀ on the device, by cuBLASLt.
//
// Matrices are row-major, without gaps where nothing else is said. Sums run in f32; f32 operands are multiplied as f32
// (no TF32). The algorithm of a product is the first that cuBLASLt's heuristic names for its shape, types and
// alignment, chosen once and kept, with a fixed workspace and no atomic reduction: the same call gives the same bits in
// every run on one GPU model and one version of cuBLAS. Another number of rows may take another algorithm, so a row's
// bits may depend on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nodes/cuda/device.h"

namespace rlflow::cuda {

// One for each stream that multiplies; one caller at a time.
class MatrixProducts {
 public:
  MatrixProducts();
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  // y[rows, outputs] = x[rows, inputs]·W[outputs, inputs]ᵀ (+ bias[outputs], which has the type of y, may be null)
  // (+ y, where add). x and W have one type; y may be f32 or that type.
  void linear(const void* x, const void* w, const void* bias, Element type, std::int64_t rows, std::int64_t inputs,
              std::int64_t outputs, void* y, Element y_type, bool add, const Stream& stream);

  // y = x·Wᵀ (+ bias) + added; y and `added` [rows, outputs], which may be y, have the type of x.
  void linear_onto(const void* x, const void* w, const void* bias, const void* added, Element type, std::int64_t rows,
                   std::int64_t inputs, std::int64_t outputs, void* y, const Stream& stream);

  // dx[rows, inputs] (+)= dy[rows, outputs]·W[outputs, inputs]; rows of dy stand dy_stride apart (0: outputs).
  void input_gradient(const void* dy, const void* w, Element type, std::int64_t rows, std::int64_t inputs,
                      std::int64_t outputs, void* dx, Element dx_type, bool add, const Stream& stream,
                      std::int64_t dy_stride = 0);

  // dW f32[outputs, inputs] (+)= dy[rows, outputs]ᵀ·x[rows, inputs]; rows of dy stand dy_stride apart (0: outputs).
  void weight_gradient(const void* dy, const void* x, Element type, std::int64_t rows, std::int64_t inputs,
                       std::int64_t outputs, float* dw, bool add, const Stream& stream, std::int64_t dy_stride = 0);

  // A line for each product met so far: shape, types and what was chosen, for records.
  std::vector<std::string> choices() const;

 private:
  struct Product;
  struct Chosen;
  void run(const Product& product, const void* a, const void* b, const void* c, void* d, const void* bias,
           const Stream& stream);
  Chosen& chosen_for(const Product& product);

  void* handle_ = nullptr;
  DeviceBuffer workspace_;
  std::map<std::string, std::unique_ptr<Chosen>> chosen_;
};

}  // namespace rlflow::cuda
