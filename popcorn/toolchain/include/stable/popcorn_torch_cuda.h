// The CUDA half of the look-alike: current stream, device guards, error checks.
#pragma once

#include <cuda_runtime.h>

#include "popcorn_torch.h"

extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);

namespace c10::cuda {

inline void check(cudaError_t code, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  popcorn::fail("CUDA error: ", cudaGetErrorString(code), " (", cudaGetErrorName(code), " at ", file, ":", line, ")");
}

inline DeviceIndex current_device() {
  int index = 0;
  check(cudaGetDevice(&index), __FILE__, __LINE__);
  return static_cast<DeviceIndex>(index);
}

class CUDAStream {
 public:
  CUDAStream(cudaStream_t stream, DeviceIndex index) : stream_(stream), index_(index) {}
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  DeviceIndex device_index() const { return index_; }
  Device device() const { return Device(kCUDA, index_); }
  void synchronize() const { check(cudaStreamSynchronize(stream_), __FILE__, __LINE__); }

 private:
  cudaStream_t stream_;
  DeviceIndex index_;
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex index = -1) {
  if (index < 0) index = current_device();
  void* stream = nullptr;
  popcorn::check(aoti_torch_get_current_cuda_stream(index, &stream), "getCurrentCUDAStream");
  return CUDAStream(static_cast<cudaStream_t>(stream), index);
}

class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex index) : original_(current_device()) { set_index(index); }
  explicit CUDAGuard(Device device) : original_(current_device()) {
    if (!device.is_cuda()) popcorn::fail("Expected a CUDA device, but got ", device);
    set_index(device.has_index() ? device.index() : original_);
  }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  ~CUDAGuard() {
    if (changed_) cudaSetDevice(original_);
  }
  void set_index(DeviceIndex index) {
    if (index == original_ && !changed_) return;
    check(cudaSetDevice(index), __FILE__, __LINE__);
    changed_ = true;
  }
  Device original_device() const { return Device(kCUDA, original_); }

 private:
  DeviceIndex original_;
  bool changed_ = false;
};

class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> index) {
    if (index) guard_.emplace(*index);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

 private:
  std::optional<CUDAGuard> guard_;
};

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;

inline cudaDeviceProp* getCurrentDeviceProperties() {
  static thread_local cudaDeviceProp known[64];
  static thread_local bool asked[64];
  const int index = c10::cuda::current_device();
  if (index < 0 || index >= 64) popcorn::fail("device index ", index, " is out of range");
  if (!asked[index]) {
    c10::cuda::check(cudaGetDeviceProperties(&known[index], index), __FILE__, __LINE__);
    asked[index] = true;
  }
  return &known[index];
}
}  // namespace at::cuda

#define C10_CUDA_CHECK(EXPR) ::c10::cuda::check((EXPR), __FILE__, __LINE__)
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
