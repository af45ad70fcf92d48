// A CUDA device, its memory, and the streams and events that order work on it.
//
// All of it belongs to the device that the calling thread uses (use_device) when an object is made. Objects are not
// thread-safe. Calls throw CudaFailure where CUDA reports an error, which may be that of an earlier launch.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

struct CUstream_st;
struct CUevent_st;

namespace rlflow::cuda {

class CudaFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An allocation found too little memory; the device is as it was before.
class OutOfDeviceMemory final : public CudaFailure {
 public:
  using CudaFailure::CudaFailure;
};

// How numbers are stored on the device.
enum class Element { f32, bf16 };
constexpr std::int64_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

// 0 where there is no driver or no device.
int device_count();

// Makes `device` the one that this thread uses. Throws where there is none of this number.
void use_device(int device);

// What the kernels are compiled for: 9.0a, which runs on no other.
inline constexpr int kCapability = 90;

struct DeviceFacts {
  std::string name;
  int capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  std::int64_t memory = 0;  // bytes
};
DeviceFacts device_facts(int device);

struct CudaVersions {
  std::string driver, runtime, cublas;  // "13.0"
};
CudaVersions cuda_versions();

// Bytes of DeviceBuffers on the device that this thread uses.
struct MemoryUse {
  std::int64_t allocated = 0;
  std::int64_t peak = 0;       // since the start or the last reset_peak
  std::int64_t available = 0;  // that an allocation may still take
};
MemoryUse memory_use();
void reset_peak();

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream_st* get() const { return stream_; }
  void synchronize() const;  // waits on the host

 private:
  CUstream_st* stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream);
  void wait_in(const Stream& stream) const;      // what `stream` gets next waits for it
  void synchronize() const;                      // the host waits for it
  float milliseconds_since(const Event&) const;  // both must have happened

 private:
  CUevent_st* event_ = nullptr;
};

// Device memory, not initialised, aligned to 256 bytes. Freeing waits for all work of the device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  // At least `bytes`; what it held is lost where it must grow.
  void reserve(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void free() noexcept;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Host memory that copies to and from the device need not stage.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void reserve(std::int64_t bytes);  // what it held is lost where it must grow
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// In the order of the stream; either side may be host memory. From host memory that is not pinned the bytes are taken
// before the call returns; to such memory they are there when it returns.
void copy(void* to, const void* from, std::int64_t bytes, const Stream& stream);
void fill_bytes(void* to, int value, std::int64_t bytes, const Stream& stream);

}  // namespace rlflow::cuda
