// Sixteen floats as one value, and the elementary functions on them. Only for the files of this folder: each is
// compiled once for every instruction set, in a namespace of its own.
#pragma once

#include <cstdint>
#include <cstring>

namespace rlflow::cpu::RLFLOW_ISA {
namespace {

using Vec8 = float __attribute__((vector_size(32)));
using Vec4 = float __attribute__((vector_size(16)));

#if defined(__AVX2__) && !defined(__AVX512F__)

// Sixteen numbers in two registers. The compiler would keep a vector of 64 bytes in memory where no register is as
// wide. A scalar becomes sixteen of itself.
template <class Half, class Scalar>
struct Pair {
  Half low, high;

  Pair() = default;
  Pair(Half l, Half h) : low(l), high(h) {}
  Pair(Scalar x) : low(x - Half{}), high(x - Half{}) {}
  Scalar operator[](std::int64_t i) const { return i < 8 ? low[i] : high[i - 8]; }
  Pair operator-() const { return {-low, -high}; }
  Pair& operator+=(Pair b) { return *this = *this + b; }
  Pair& operator*=(Pair b) { return *this = *this * b; }

  friend Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
  friend Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
  friend Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
  friend Pair operator/(Pair a, Pair b) { return {a.low / b.low, a.high / b.high}; }
  friend Pair operator&(Pair a, Pair b) { return {a.low & b.low, a.high & b.high}; }
  friend Pair operator|(Pair a, Pair b) { return {a.low | b.low, a.high | b.high}; }
  friend Pair operator<<(Pair a, int count) { return {a.low << count, a.high << count}; }
  friend Pair operator>>(Pair a, int count) { return {a.low >> count, a.high >> count}; }
  // A true lane is -1.
  friend auto operator<(Pair a, Pair b) { return both(a.low < b.low, a.high < b.high); }
  friend auto operator>(Pair a, Pair b) { return both(a.low > b.low, a.high > b.high); }
  friend auto operator>=(Pair a, Pair b) { return both(a.low >= b.low, a.high >= b.high); }

 private:
  using Truth = std::int32_t __attribute__((vector_size(32)));
  static Pair<Truth, std::int32_t> both(Truth l, Truth h) { return {l, h}; }
};

using Int8 = std::int32_t __attribute__((vector_size(32)));
using Vec = Pair<Vec8, float>;
using Int = Pair<Int8, std::int32_t>;

inline Vec splat(float x) { return x; }
inline Int lane_numbers() { return {Int8{0, 1, 2, 3, 4, 5, 6, 7}, Int8{8, 9, 10, 11, 12, 13, 14, 15}}; }
inline Vec choose(Int mask, Vec a, Vec b) { return {mask.low ? a.low : b.low, mask.high ? a.high : b.high}; }
inline Int truncated(Vec v) { return {__builtin_convertvector(v.low, Int8), __builtin_convertvector(v.high, Int8)}; }
inline Vec floating(Int v) { return {__builtin_convertvector(v.low, Vec8), __builtin_convertvector(v.high, Vec8)}; }
inline Vec8 added_halves(Vec v) { return v.low + v.high; }
inline Vec as_floats(Int v) { return {reinterpret_cast<Vec8>(v.low), reinterpret_cast<Vec8>(v.high)}; }
inline Int as_bits(Vec v) { return {reinterpret_cast<Int8>(v.low), reinterpret_cast<Int8>(v.high)}; }

// Half by half: 64 bytes at once would go through memory.
inline Vec load(const float* p) {
  Vec v;
  std::memcpy(&v.low, p, sizeof v.low);
  std::memcpy(&v.high, p + 8, sizeof v.high);
  return v;
}
inline void store(float* p, Vec v) {
  std::memcpy(p, &v.low, sizeof v.low);
  std::memcpy(p + 8, &v.high, sizeof v.high);
}

#else

using Vec = float __attribute__((vector_size(64)));
using Int = std::int32_t __attribute__((vector_size(64)));

inline Vec splat(float x) { return x - Vec{}; }
inline Int lane_numbers() { return Int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
inline Vec choose(Int mask, Vec a, Vec b) { return mask ? a : b; }
inline Int truncated(Vec v) { return __builtin_convertvector(v, Int); }
inline Vec floating(Int v) { return __builtin_convertvector(v, Vec); }
inline Vec as_floats(Int v) { return reinterpret_cast<Vec>(v); }
inline Int as_bits(Vec v) { return reinterpret_cast<Int>(v); }
inline Vec8 added_halves(Vec v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}

inline Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }

#endif

// The first `count` (0 … 16) floats, `fill` in the other lanes.
inline Vec load_part(const float* p, std::int64_t count, float fill) {
  if (count >= 16) return load(p);
  float lanes[16];
  for (std::int64_t i = 0; i < 16; ++i) lanes[i] = i < count ? p[i] : fill;
  return load(lanes);
}
inline void store_part(float* p, Vec v, std::int64_t count) {
  if (count >= 16) {
    store(p, v);
    return;
  }
  float lanes[16];
  store(lanes, v);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}

inline Vec larger(Vec a, Vec b) { return choose(a > b, a, b); }

// The lanes added in the tree (i, i+8), (i, i+4), (i, i+2), (i, i+1).
inline float sum(Vec v) {
  const Vec8 a = added_halves(v);
  Vec4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
  return (b[0] + b[2]) + (b[1] + b[3]);
}
inline float maximum(Vec v) {
  float best = v[0];
  for (int i = 1; i < 16; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

// e^x, about 1 ulp (minimax polynomial of degree 6 after reduction by ln 2, the constants of Cephes expf).
// 0 below -87.3, where the result would be subnormal; infinite above 88.7; NaN stays NaN.
inline Vec exp(Vec x) {
  const Vec t = x * 1.44269504088896341f;
  const Vec nearest = t + choose(t < 0.0f, splat(-0.5f), splat(0.5f));
  const Vec bounded = choose(nearest > 128.0f, splat(128.0f), choose(nearest < -126.0f, splat(-126.0f), nearest));
  const Int n = truncated(bounded);
  const Vec f = floating(n);
  const Vec r = (x - f * 0.693359375f) - f * -2.12194440e-4f;
  Vec y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const Vec scale = as_floats((n + 127) << 23);
  y = choose(x > 88.7f, splat(__builtin_inff()), y * scale);
  return choose(x < -87.3f, Vec{}, y);
}

// ln x of positive, normal x, about 1 ulp also near 1 (the constants of Cephes logf). +inf and NaN stay themselves.
inline Vec log(Vec x) {
  Int bits = as_bits(x);
  Int exponent = ((bits >> 23) & 0xff) - 126;
  bits = (bits & 0x007fffff) | 0x3f000000;
  Vec m = as_floats(bits);
  const Int small = m < 0.707106781186547524f;
  exponent += small;  // a true lane is -1
  m = choose(small, m + m, m) - 1.0f;
  const Vec e = floating(exponent);
  const Vec z = m * m;
  Vec y = m * 7.0376836292e-2f + -1.1514610310e-1f;
  y = y * m + 1.1676998740e-1f;
  y = y * m + -1.2420140846e-1f;
  y = y * m + 1.4249322787e-1f;
  y = y * m + -1.6668057665e-1f;
  y = y * m + 2.0000714765e-1f;
  y = y * m + -2.4999993993e-1f;
  y = y * m + 3.3333331174e-1f;
  const Vec cubic = y * m * z;  // named: which product is fused with the sum must not depend on the table
  const Vec correction = e * -2.12194440e-4f;
  y = cubic + correction - z * 0.5f;
  return choose(x < __builtin_inff(), m + y + e * 0.693359375f, x);
}

}  // namespace
}  // namespace rlflow::cpu::RLFLOW_ISA
