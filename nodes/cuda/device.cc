// A CUDA device, its memory, and the streams and events that order work on it.
#include "nodes/cuda/device.h"

#include <utility>

#include "nodes/cuda/status.h"

namespace rlflow::cuda {
namespace {

std::string at_place(const char* call, const std::source_location& at) {
  std::string file = at.file_name();
  file = file.substr(file.rfind('/') + 1);
  return std::string(call) + " (" + file + ":" + std::to_string(at.line()) + ")";
}

std::string dotted(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

// The pool of this thread's device. It keeps what is freed, so that buffers which come and go cost nothing.
cudaMemPool_t memory_pool() {
  int device = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  cudaMemPool_t pool = nullptr;
  require(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  return pool;
}

std::int64_t pool_number(cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  require(cudaMemPoolGetAttribute(memory_pool(), attribute, &value), "cudaMemPoolGetAttribute");
  return static_cast<std::int64_t>(value);
}

// The legacy stream is waited for before memory is handed out: other streams do not wait for it.
void* allocate(std::int64_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMallocAsync(&data, static_cast<std::size_t>(bytes), nullptr);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    const MemoryUse use = memory_use();
    throw OutOfDeviceMemory("out of GPU memory: " + std::to_string(bytes) + " bytes asked for, " +
                            std::to_string(use.allocated) + " in use, " + std::to_string(use.available) + " left");
  }
  require(status, "cudaMallocAsync");
  require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return data;
}

}  // namespace

void require(cudaError_t status, const char* call, std::source_location at) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string text = at_place(call, at) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw CudaFailure(text);
}

void require(cublasStatus_t status, const char* call, std::source_location at) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaFailure(at_place(call, at) + ": " + cublasLtGetStatusString(status));
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

void use_device(int device) {
  const int count = device_count();
  if (device < 0 || device >= count) {
    throw CudaFailure("there is no GPU " + std::to_string(device) + ": " +
                      (count == 0 ? "no driver or no device was found" : std::to_string(count) + " found"));
  }
  require(cudaSetDevice(device), "cudaSetDevice");
  std::uint64_t keep = UINT64_MAX;
  require(cudaMemPoolSetAttribute(memory_pool(), cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
}

DeviceFacts device_facts(int device) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return {properties.name, properties.major * 10 + properties.minor, properties.multiProcessorCount,
          static_cast<std::int64_t>(properties.totalGlobalMem)};
}

CudaVersions cuda_versions() {
  int driver = 0, runtime = 0;
  require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto cublas = static_cast<std::int64_t>(cublasLtGetVersion());  // 130100 for 13.1.0
  return {
      dotted(driver), dotted(runtime),
      std::to_string(cublas / 10000) + "." + std::to_string(cublas % 10000 / 100) + "." + std::to_string(cublas % 100)};
}

MemoryUse memory_use() {
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const std::int64_t used = pool_number(cudaMemPoolAttrUsedMemCurrent);
  return {used, pool_number(cudaMemPoolAttrUsedMemHigh),
          static_cast<std::int64_t>(free) + pool_number(cudaMemPoolAttrReservedMemCurrent) - used};
}

void reset_peak() {
  std::uint64_t zero = 0;
  require(cudaMemPoolSetAttribute(memory_pool(), cudaMemPoolAttrUsedMemHigh, &zero), "cudaMemPoolSetAttribute");
}

Stream::Stream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
Stream::~Stream() { (void)cudaStreamDestroy(stream_); }
void Stream::synchronize() const { require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

Event::Event() { require(cudaEventCreate(&event_), "cudaEventCreate"); }
Event::~Event() { (void)cudaEventDestroy(event_); }
void Event::record(const Stream& stream) { require(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
void Event::wait_in(const Stream& stream) const {
  require(cudaStreamWaitEvent(stream.get(), event_, 0), "cudaStreamWaitEvent");
}
void Event::synchronize() const { require(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
float Event::milliseconds_since(const Event& start) const {
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
  return milliseconds;
}

DeviceBuffer::DeviceBuffer(std::int64_t bytes) { reserve(bytes); }
DeviceBuffer::~DeviceBuffer() { free(); }
DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  free();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void DeviceBuffer::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  free();
  data_ = allocate(bytes);
  bytes_ = bytes;
}

void DeviceBuffer::free() noexcept {
  if (data_ == nullptr) return;
  (void)cudaDeviceSynchronize();
  (void)cudaFreeAsync(data_, nullptr);
  (void)cudaStreamSynchronize(nullptr);
  data_ = nullptr;
  bytes_ = 0;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
}

void PinnedBuffer::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  if (data_ != nullptr) require(cudaFreeHost(std::exchange(data_, nullptr)), "cudaFreeHost");
  bytes_ = 0;
  require(cudaMallocHost(&data_, static_cast<std::size_t>(bytes)), "cudaMallocHost");
  bytes_ = bytes;
}

void copy(void* to, const void* from, std::int64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream.get()),
          "cudaMemcpyAsync");
}

void fill_bytes(void* to, int value, std::int64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  require(cudaMemsetAsync(to, value, static_cast<std::size_t>(bytes), stream.get()), "cudaMemsetAsync");
}

}  // namespace rlflow::cuda
