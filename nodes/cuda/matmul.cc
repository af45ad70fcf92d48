// The products of a linear layer on the device, by cuBLASLt.
#include "nodes/cuda/matmul.h"

#include <algorithm>
#include <iterator>

#include "nodes/cuda/status.h"

namespace rlflow::cuda {
namespace {

constexpr std::int64_t kWorkspace = 64 << 20;  // bytes

// Among the algorithms that the heuristic offers for products over many rows the first is often not the fastest. On an
// H200 with cuBLAS 13.1 and matrices of 896 to 151,936 columns the first with one of these tiles was, by up to 20 %.
constexpr std::int64_t kManyRows = 4096;
constexpr int kOffered = 8;
constexpr cublasLtMatmulTile_t kFastTiles[] = {CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_MATMUL_TILE_128x160,
                                               CUBLASLT_MATMUL_TILE_176x128};

cudaDataType_t data_type(Element element) { return element == Element::f32 ? CUDA_R_32F : CUDA_R_16BF; }
const char* name_of(Element element) { return element == Element::f32 ? "f32" : "bf16"; }

// Largest power of two up to 256 that divides the address.
std::uint32_t alignment(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::uint32_t bytes = 256;
  while (bytes > 1 && address % bytes != 0) bytes /= 2;
  return bytes;
}

template <class T>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  require(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  require(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
}
template <class T>
T config_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  require(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
  return value;
}

}  // namespace

// As cuBLAS sees it, column by column: c[m, n] = op(a)[m, k]·op(b)[k, n]. A row-major matrix is its transpose there.
struct MatrixProducts::Product {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  Element type, c_type;
  bool add, bias;
  std::int64_t b_stride = 0;  // between columns of b as it is stored; 0: no gaps
  std::uint32_t align_a = 256, align_b = 256, align_c = 256;

  std::string key() const {
    return std::string(transpose_a ? "t" : "n") + (transpose_b ? "t " : "n ") + std::to_string(m) + "x" +
           std::to_string(n) + "x" + std::to_string(k) + " " + name_of(type) + ">" + name_of(c_type) +
           (b_stride != 0 ? " stride " + std::to_string(b_stride) : "") + (add ? " add" : "") + (bias ? " bias" : "") +
           " align " + std::to_string(std::min(align_a, align_b)) + "," + std::to_string(align_c);
  }
};

struct MatrixProducts::Chosen {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;

  explicit Chosen(const Product& product) {
    require(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t op_a = product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, op_b);
    if (product.bias) {
      set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.c_type));
    }
    auto layout = [](cublasLtMatrixLayout_t* made, Element type, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride = 0) {
      require(cublasLtMatrixLayoutCreate(made, data_type(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), stride == 0 ? rows : stride),
              "cublasLtMatrixLayoutCreate");
    };
    layout(&a, product.type, product.transpose_a ? product.k : product.m, product.transpose_a ? product.m : product.k);
    layout(&b, product.type, product.transpose_b ? product.n : product.k, product.transpose_b ? product.k : product.n,
           product.b_stride);
    layout(&c, product.c_type, product.m, product.n);
  }
  ~Chosen() {
    for (cublasLtMatrixLayout_t each : {a, b, c}) (void)cublasLtMatrixLayoutDestroy(each);
    (void)cublasLtMatmulDescDestroy(description);
  }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;
};

MatrixProducts::MatrixProducts() : workspace_(kWorkspace) {
  cublasLtHandle_t handle = nullptr;
  require(cublasLtCreate(&handle), "cublasLtCreate");
  handle_ = handle;
}
MatrixProducts::~MatrixProducts() { (void)cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_)); }

namespace {

// The one to take of what was offered for a product.
template <class Product>
const cublasLtMatmulHeuristicResult_t* best(const Product& product, const cublasLtMatmulHeuristicResult_t* first,
                                            const cublasLtMatmulHeuristicResult_t* last) {
  // Gradients of weights, whose depth is the rows, are not among them.
  if (product.type != Element::bf16 || product.transpose_b || product.n < kManyRows) return first;
  const auto* found = std::find_if(first, last, [](const cublasLtMatmulHeuristicResult_t& each) {
    const auto tile = config_of<std::uint32_t>(each.algo, CUBLASLT_ALGO_CONFIG_TILE_ID);
    const auto splits = config_of<std::int32_t>(each.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
    return splits <= 1 && std::count(std::begin(kFastTiles), std::end(kFastTiles), tile) > 0;
  });
  return found == last ? first : found;
}

}  // namespace

MatrixProducts::Chosen& MatrixProducts::chosen_for(const Product& product) {
  std::unique_ptr<Chosen>& known = chosen_[product.key()];
  if (known) return *known;
  auto made = std::make_unique<Chosen>(product);
  cublasLtMatmulPreference_t preference = nullptr;
  require(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspace));
  // Partial sums of a split depth are added in f32 and in order.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.align_a);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.align_b);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.align_c);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.align_c);
  cublasLtMatmulHeuristicResult_t offered[kOffered] = {};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(static_cast<cublasLtHandle_t>(handle_), made->description, made->a, made->b,
                                     made->c, made->c, preference, kOffered, offered, &found);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  require(status, ("cublasLtMatmulAlgoGetHeuristic " + product.key()).c_str());
  if (found == 0) throw CudaFailure("cuBLASLt has no algorithm for the product " + product.key());
  const cublasLtMatmulHeuristicResult_t& result = *best(product, offered, offered + found);
  made->algorithm = result.algo;
  made->workspace = result.workspaceSize;
  known = std::move(made);
  return *known;
}

void MatrixProducts::run(const Product& product, const void* a, const void* b, const void* c, void* d, const void* bias,
                         const Stream& stream) {
  if (product.m == 0 || product.n == 0) return;
  Product placed = product;
  placed.align_a = alignment(a);
  placed.align_b = alignment(b);
  placed.align_c = std::min(alignment(c), alignment(d));
  Chosen& chosen = chosen_for(placed);
  if (product.bias) set(chosen.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1, beta = product.add ? 1.0f : 0.0f;
  require(
      cublasLtMatmul(static_cast<cublasLtHandle_t>(handle_), chosen.description, &one, a, chosen.a, b, chosen.b, &beta,
                     c, chosen.c, d, chosen.c, &chosen.algorithm, workspace_.data(), chosen.workspace, stream.get()),
      "cublasLtMatmul");
}

void MatrixProducts::linear(const void* x, const void* w, const void* bias, Element type, std::int64_t rows,
                            std::int64_t inputs, std::int64_t outputs, void* y, Element y_type, bool add,
                            const Stream& stream) {
  run({true, false, outputs, rows, inputs, type, y_type, add, bias != nullptr}, w, x, y, y, bias, stream);
}

void MatrixProducts::linear_onto(const void* x, const void* w, const void* bias, const void* added, Element type,
                                 std::int64_t rows, std::int64_t inputs, std::int64_t outputs, void* y,
                                 const Stream& stream) {
  run({true, false, outputs, rows, inputs, type, type, true, bias != nullptr}, w, x, added, y, bias, stream);
}

void MatrixProducts::input_gradient(const void* dy, const void* w, Element type, std::int64_t rows, std::int64_t inputs,
                                    std::int64_t outputs, void* dx, Element dx_type, bool add, const Stream& stream,
                                    std::int64_t dy_stride) {
  run({false, false, inputs, rows, outputs, type, dx_type, add, false, dy_stride}, w, dy, dx, dx, nullptr, stream);
}

void MatrixProducts::weight_gradient(const void* dy, const void* x, Element type, std::int64_t rows,
                                     std::int64_t inputs, std::int64_t outputs, float* dw, bool add,
                                     const Stream& stream, std::int64_t dy_stride) {
  run({false, true, inputs, outputs, rows, type, Element::f32, add, false, dy_stride}, x, dy, dw, dw, nullptr, stream);
}

std::vector<std::string> MatrixProducts::choices() const {
  std::vector<std::string> lines;
  for (const auto& [key, chosen] : chosen_) {
    const auto id = config_of<std::int32_t>(chosen->algorithm, CUBLASLT_ALGO_CONFIG_ID);
    const auto tile = config_of<std::uint32_t>(chosen->algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
    const auto splits = config_of<std::int32_t>(chosen->algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
    lines.push_back(key + ": algorithm " + std::to_string(id) + ", tile " + std::to_string(tile) + ", split " +
                    std::to_string(splits) + ", workspace " + std::to_string(chosen->workspace));
  }
  return lines;
}

}  // namespace rlflow::cuda
