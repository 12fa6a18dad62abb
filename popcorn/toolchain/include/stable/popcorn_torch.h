// A header-only look-alike of the part of torch::Tensor that kernels use, over torch's stable C interface (aoti_torch_*,
// torch >= 2.9). It parses in a tenth of the time of torch's own headers. Rule: whatever compiles here means the same as in
// torch; whatever it does not know must not compile, and the next tier of headers is tried.
#pragma once
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC system_header  // warnings are for the candidate's text alone
#endif

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef POPCORN_HALF
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#endif

extern "C" {
struct AtenTensorOpaque;  // is at::Tensor
typedef AtenTensorOpaque* AtenTensorHandle;
int32_t aoti_torch_new_tensor_handle(AtenTensorHandle original, AtenTensorHandle* made);
int32_t aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
int32_t aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data);
int32_t aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* dim);
int32_t aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* numel);
int32_t aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** sizes);
int32_t aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** strides);
int32_t aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* dtype);
int32_t aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* type);
int32_t aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* index);
int32_t aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* layout);
int32_t aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* offset);
int32_t aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* contiguous);
int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                                 int32_t device_index, AtenTensorHandle* made);
int32_t aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* made);
int32_t aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle source, int32_t non_blocking);
int32_t aoti_torch_zero_(AtenTensorHandle self);
int32_t aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double value);
}

namespace c10 {

class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const char* what_without_backtrace() const noexcept { return message_.c_str(); }

 private:
  std::string message_;
};

class IndexError : public Error {
  using Error::Error;
};

// The numbers of torch's ScalarType, which every saved tensor depends on.
enum class ScalarType : int8_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, Bool = 11, BFloat16 = 15,
  Float8_e5m2 = 23, Float8_e4m3fn = 24
};

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short, kInt = ScalarType::Int,
                     kLong = ScalarType::Long, kHalf = ScalarType::Half, kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                     kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16, kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort,
                     kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;

inline const char* toString(ScalarType type) {
  switch (type) {
    case ScalarType::Byte: return "Byte";
    case ScalarType::Char: return "Char";
    case ScalarType::Short: return "Short";
    case ScalarType::Int: return "Int";
    case ScalarType::Long: return "Long";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    case ScalarType::Double: return "Double";
    case ScalarType::Bool: return "Bool";
    case ScalarType::BFloat16: return "BFloat16";
    case ScalarType::Float8_e5m2: return "Float8_e5m2";
    case ScalarType::Float8_e4m3fn: return "Float8_e4m3fn";
  }
  return "UNKNOWN_SCALAR";
}

inline size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
    case ScalarType::Int: case ScalarType::Float: return 4;
    case ScalarType::Long: case ScalarType::Double: return 8;
    default: return 1;
  }
}

inline bool isFloatingType(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::BFloat16 ||
         type == ScalarType::Float8_e5m2 || type == ScalarType::Float8_e4m3fn;
}

inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;

class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ != -1; }
  bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  bool operator==(const Device& other) const noexcept { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const noexcept { return !(*this == other); }
  std::string str() const {
    return (is_cuda() ? std::string("cuda") : std::string("cpu")) + (has_index() ? ":" + std::to_string(int(index_)) : "");
  }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << (type == DeviceType::CUDA ? "cuda" : "cpu"); }

template <typename T>
class ArrayRef final {
 public:
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using value_type = T;
  constexpr ArrayRef() : data_(nullptr), size_(0) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  template <typename A>
  ArrayRef(const std::vector<T, A>& all) : data_(all.data()), size_(all.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& all) : data_(all.data()), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& all) : data_(all.begin() == all.end() ? nullptr : all.begin()), size_(all.size()) {}
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t index) const { return data_[index]; }
  const T& at(size_t index) const {
    if (index >= size_) throw Error("ArrayRef: invalid index Index = " + std::to_string(index) + "; Length = " + std::to_string(size_));
    return data_[index];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef other) const { return size_ == other.size_ && std::equal(begin(), end(), other.begin()); }

 private:
  const T* data_;
  size_t size_;
};

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <typename T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << "[";
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  return out << "]";
}
using IntArrayRef = ArrayRef<int64_t>;

using std::nullopt;
using std::nullopt_t;
using std::optional;

}  // namespace c10

namespace caffe2 {

class TypeMeta final {
 public:
  explicit TypeMeta(c10::ScalarType type) : type_(type) {}
  c10::ScalarType toScalarType() const { return type_; }
  size_t itemsize() const { return c10::elementSize(type_); }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, c10::ScalarType b) { return a.type_ == b; }
  friend bool operator==(c10::ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(TypeMeta a, c10::ScalarType b) { return a.type_ != b; }
  friend bool operator!=(c10::ScalarType a, TypeMeta b) { return a != b.type_; }

 private:
  c10::ScalarType type_;
};

}  // namespace caffe2

namespace popcorn {

template <c10::ScalarType S>
struct CppType;
template <typename T>
struct ScalarOf;
#define POPCORN_TYPE(T, S)                                       \
  template <>                                                    \
  struct CppType<c10::ScalarType::S> { using type = T; };        \
  template <>                                                    \
  struct ScalarOf<T> { static constexpr c10::ScalarType value = c10::ScalarType::S; };
POPCORN_TYPE(uint8_t, Byte)
POPCORN_TYPE(int8_t, Char)
POPCORN_TYPE(int16_t, Short)
POPCORN_TYPE(int, Int)
POPCORN_TYPE(int64_t, Long)
POPCORN_TYPE(float, Float)
POPCORN_TYPE(double, Double)
POPCORN_TYPE(bool, Bool)
#ifdef POPCORN_HALF
POPCORN_TYPE(c10::Half, Half)
POPCORN_TYPE(c10::BFloat16, BFloat16)
#endif
#undef POPCORN_TYPE

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return out.str();
}

template <typename... Parts>
[[noreturn]] inline void fail(const Parts&... parts) { throw c10::Error(text(parts...)); }

inline std::string check_message(const char* standard) { return standard; }
template <typename... Parts>
std::string check_message(const char*, const Parts&... parts) { return text(parts...); }

// An allocation that torch refused: the binding asks torch once more through Python, so that the error is torch's own.
struct AllocationFailed : c10::Error {
  AllocationFailed(std::vector<int64_t> sizes_, std::vector<int64_t> strides_, c10::ScalarType dtype_, c10::Device device_)
      : c10::Error("torch could not allocate a tensor"), sizes(std::move(sizes_)), strides(std::move(strides_)), dtype(dtype_), device(device_) {}
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype;
  c10::Device device;
};

inline void check(int32_t code, const char* name) {
  if (code != 0) fail(name, " failed in torch (its message was written to stderr)");
}

inline std::vector<int64_t> contiguous_strides(c10::IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

inline bool is_dense(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (sizes[a] < 2) return false;
    return sizes[b] < 2 || strides[a] < strides[b];
  });
  if (order.size() == 1) return sizes[0] < 2 || strides[0] == 1;
  int64_t expected = 1;
  for (size_t i : order) {
    if (sizes[i] < 2) return true;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

// The strides that torch gives empty_like of a tensor with gaps or overlaps: dimensions keep their order in memory.
inline std::vector<int64_t> dense_strides(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  const int64_t n = static_cast<int64_t>(sizes.size());
  std::vector<int64_t> order(n), out(n);
  for (int64_t i = 0; i < n; ++i) order[i] = n - 1 - i;
  auto compare = [&](int64_t a, int64_t b) {
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  };
  for (int64_t i = 1; i < n; ++i) {
    int64_t b = i;
    for (int64_t a = i - 1; a >= 0; --a) {
      const int c = compare(order[a], order[b]);
      if (c > 0) {
        std::swap(order[a], order[b]);
        b = a;
      } else if (c < 0) {
        break;
      }
    }
  }
  int64_t step = 1;
  for (int64_t i : order) {
    out[i] = step;
    if (sizes[i] > 1) step *= sizes[i];
  }
  return out;
}

}  // namespace popcorn

namespace c10 {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(caffe2::TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  [[nodiscard]] TensorOptions dtype(ScalarType type) const {
    TensorOptions changed(*this);
    changed.dtype_ = type;
    return changed;
  }
  [[nodiscard]] TensorOptions dtype(caffe2::TypeMeta type) const { return dtype(type.toScalarType()); }
  [[nodiscard]] TensorOptions device(Device device) const {
    TensorOptions changed(*this);
    changed.device_ = device;
    return changed;
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const { return device(Device(type, index)); }
  Device device() const { return device_.value_or(Device(DeviceType::CPU)); }
  caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(dtype_.value_or(ScalarType::Float)); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(caffe2::TypeMeta type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }

}  // namespace c10

namespace at {
using namespace c10;

// What Tensor::type() still gives, as far as old CHECK_CUDA macros and dispatches use it.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType type, bool cuda) : type_(type), cuda_(cuda) {}
  bool is_cuda() const { return cuda_; }
  ScalarType scalarType() const { return type_; }

 private:
  ScalarType type_;
  bool cuda_;
};

class Tensor;
Tensor empty(IntArrayRef size, const TensorOptions& options);

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(AtenTensorHandle stolen) : handle_(stolen) {}
  Tensor(const Tensor& other) {
    if (other.handle_) popcorn::check(aoti_torch_new_tensor_handle(other.handle_, &handle_), "copying a tensor");
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) aoti_torch_delete_tensor_object(handle_);
  }

  bool defined() const { return handle_ != nullptr; }
  int64_t dim() const { return value<int64_t>(aoti_torch_get_dim, "dim"); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return value<int64_t>(aoti_torch_get_numel, "numel"); }
  IntArrayRef sizes() const { return IntArrayRef(value<int64_t*>(aoti_torch_get_sizes, "sizes"), static_cast<size_t>(dim())); }
  IntArrayRef strides() const { return IntArrayRef(value<int64_t*>(aoti_torch_get_strides, "strides"), static_cast<size_t>(dim())); }
  int64_t size(int64_t i) const { return sizes()[wrapped(i)]; }
  int64_t stride(int64_t i) const { return strides()[wrapped(i)]; }
  int64_t storage_offset() const { return value<int64_t>(aoti_torch_get_storage_offset, "storage_offset"); }
  ScalarType scalar_type() const { return static_cast<ScalarType>(value<int32_t>(aoti_torch_get_dtype, "scalar_type")); }
  caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(scalar_type()); }
  size_t element_size() const { return elementSize(scalar_type()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
  Device device() const {
    const int32_t type = value<int32_t>(aoti_torch_get_device_type, "device");
    const int32_t index = value<int32_t>(aoti_torch_get_device_index, "device");
    if (type != 0 && type != 1) popcorn::fail("a tensor on an unknown device");
    return Device(static_cast<DeviceType>(type), static_cast<DeviceIndex>(index));
  }
  bool is_cuda() const { return value<int32_t>(aoti_torch_get_device_type, "is_cuda") == 1; }
  bool is_cpu() const { return value<int32_t>(aoti_torch_get_device_type, "is_cpu") == 0; }
  int64_t get_device() const { return value<int32_t>(aoti_torch_get_device_index, "get_device"); }
  bool is_contiguous() const { return value<bool>(aoti_torch_is_contiguous, "is_contiguous"); }
  DeprecatedTypeProperties type() const { return DeprecatedTypeProperties(scalar_type(), is_cuda()); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()); }

  void* data_ptr() const { return value<void*>(aoti_torch_get_data_ptr, "data_ptr"); }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data_ptr() const {
    constexpr ScalarType wanted = popcorn::ScalarOf<T>::value;
    const ScalarType found = scalar_type();
    if (found != wanted) popcorn::fail("expected scalar type ", toString(wanted), " but found ", toString(found));
    return static_cast<T*>(data_ptr());
  }
  template <typename T>
  T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <typename T>
  const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }

  Tensor contiguous() const {
    if (is_contiguous()) return *this;
    Tensor made = at::empty(sizes(), options());
    popcorn::check(aoti_torch_copy_(made.handle_, handle_, 0), "contiguous");
    return made;
  }
  Tensor clone() const {
    AtenTensorHandle made = nullptr;
    popcorn::check(aoti_torch_clone(required("clone"), &made), "clone");
    return Tensor(made);
  }
  const Tensor& copy_(const Tensor& source) const {
    popcorn::check(aoti_torch_copy_(required("copy_"), source.required("copy_"), 0), "copy_");
    return *this;
  }
  const Tensor& zero_() const {
    popcorn::check(aoti_torch_zero_(required("zero_")), "zero_");
    return *this;
  }
  AtenTensorHandle handle() const { return handle_; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }

 private:
  template <typename T>
  T value(int32_t (*get)(AtenTensorHandle, T*), const char* name) const {
    T found{};
    popcorn::check(get(required(name), &found), name);
    return found;
  }
  AtenTensorHandle required(const char* name) const {
    if (!handle_) popcorn::fail("tensor does not have a ", name, ": it is undefined");
    return handle_;
  }
  size_t wrapped(int64_t i) const {
    const int64_t n = dim();
    if (i < -std::max<int64_t>(n, 1) || i >= std::max<int64_t>(n, 1) || n == 0) {
      if (n == 0) throw IndexError("Dimension specified as " + std::to_string(i) + " but tensor has no dimensions");
      throw IndexError("Dimension out of range (expected to be in range of [" + std::to_string(-n) + ", " + std::to_string(n - 1) +
                       "], but got " + std::to_string(i) + ")");
    }
    return static_cast<size_t>(i < 0 ? i + n : i);
  }
  AtenTensorHandle handle_ = nullptr;
};

inline Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  AtenTensorHandle made = nullptr;
  const ScalarType type = options.dtype().toScalarType();
  const Device device = options.device();
  if (aoti_torch_empty_strided(static_cast<int64_t>(size.size()), size.data(), stride.data(), static_cast<int32_t>(type),
                               static_cast<int32_t>(device.type()), device.index(), &made) != 0)
    throw popcorn::AllocationFailed(size.vec(), stride.vec(), type, device);
  return Tensor(made);
}

inline Tensor empty(IntArrayRef size, const TensorOptions& options) {
  return empty_strided(size, popcorn::contiguous_strides(size), options);
}

inline Tensor zeros(IntArrayRef size, const TensorOptions& options) {
  Tensor made = empty(size, options);
  made.zero_();
  return made;
}

inline Tensor empty_like(const Tensor& self, const TensorOptions& options = {}) {
  TensorOptions all = self.options();
  if (options.has_dtype()) all = all.dtype(options.dtype());
  if (options.has_device()) all = all.device(options.device());
  const bool dense = popcorn::is_dense(self.sizes(), self.strides());
  return empty_strided(self.sizes(), dense ? self.strides().vec() : popcorn::dense_strides(self.sizes(), self.strides()), all);
}

inline Tensor zeros_like(const Tensor& self, const TensorOptions& options = {}) {
  Tensor made = empty_like(self, options);
  made.zero_();
  return made;
}

// fill_ takes a double: integers that it cannot hold are left to the next tier, which the template refuses by type.
template <typename T, std::enable_if_t<std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, int>, int> = 0>
inline Tensor full(IntArrayRef size, T value, const TensorOptions& options) {
  const bool given = options.has_dtype();
  Tensor made = empty(size, given ? options : options.dtype(std::is_same_v<T, int> ? ScalarType::Long : ScalarType::Float));
  popcorn::check(aoti_torch_aten_fill__Scalar(made.handle(), static_cast<double>(value)), "full");
  return made;
}

inline Tensor ones(IntArrayRef size, const TensorOptions& options) { return full(size, 1, options.dtype(options.dtype())); }

template <typename T, std::enable_if_t<std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, int>, int> = 0>
inline Tensor full_like(const Tensor& self, T value, const TensorOptions& options = {}) {
  Tensor made = empty_like(self, options);
  popcorn::check(aoti_torch_aten_fill__Scalar(made.handle(), static_cast<double>(value)), "full_like");
  return made;
}

inline Tensor ones_like(const Tensor& self, const TensorOptions& options = {}) { return full_like(self, 1, options); }

inline std::optional<Device> device_of(const Tensor& t) { return t.defined() ? std::make_optional(t.device()) : std::nullopt; }

}  // namespace at

namespace torch {
using namespace at;
}

#define TORCH_CHECK(cond, ...)                                                                                       \
  if (!(cond)) {                                                                                                     \
    throw ::c10::Error(::popcorn::check_message("Expected " #cond " to be true, but got false.  (Could this error "  \
                                                "message be improved?  If so, please report an enhancement request " \
                                                "to PyTorch.)",                                                      \
                                                ##__VA_ARGS__));                                                     \
  }

#define POPCORN_CASE(ENUM, ...)                                                    \
  case ENUM: {                                                                     \
    using scalar_t [[maybe_unused]] = typename ::popcorn::CppType<ENUM>::type;     \
    return __VA_ARGS__();                                                          \
  }
#define POPCORN_SWITCH(TYPE, NAME, ...)                                                                  \
  [&] {                                                                                                  \
    const ::c10::ScalarType popcorn_type = ::popcorn::dispatched(TYPE);                                                       \
    switch (popcorn_type) {                                                                              \
      __VA_ARGS__                                                                                        \
      default:                                                                                           \
        throw ::popcorn::NotImplemented(::popcorn::text('"', NAME, "\" not implemented for '", ::c10::toString(popcorn_type), "'")); \
    }                                                                                                    \
  }()
namespace popcorn {
class NotImplemented : public c10::Error {
  using c10::Error::Error;
};
inline c10::ScalarType dispatched(c10::ScalarType type) { return type; }
inline c10::ScalarType dispatched(const at::DeprecatedTypeProperties& type) { return type.scalarType(); }
}  // namespace popcorn

#define POPCORN_FLOATING(...) POPCORN_CASE(::c10::ScalarType::Double, __VA_ARGS__) POPCORN_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define POPCORN_INTEGRAL(...)                              \
  POPCORN_CASE(::c10::ScalarType::Byte, __VA_ARGS__)       \
  POPCORN_CASE(::c10::ScalarType::Char, __VA_ARGS__)       \
  POPCORN_CASE(::c10::ScalarType::Int, __VA_ARGS__)        \
  POPCORN_CASE(::c10::ScalarType::Long, __VA_ARGS__)       \
  POPCORN_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) POPCORN_SWITCH(TYPE, NAME, POPCORN_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  POPCORN_SWITCH(TYPE, NAME, POPCORN_FLOATING(__VA_ARGS__) POPCORN_CASE(::c10::ScalarType::Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(ONE, TYPE, NAME, ...) \
  POPCORN_SWITCH(TYPE, NAME, POPCORN_FLOATING(__VA_ARGS__) POPCORN_CASE(ONE, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(ONE, TWO, TYPE, NAME, ...) \
  POPCORN_SWITCH(TYPE, NAME, POPCORN_FLOATING(__VA_ARGS__) POPCORN_CASE(ONE, __VA_ARGS__) POPCORN_CASE(TWO, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  POPCORN_SWITCH(TYPE, NAME, POPCORN_CASE(::c10::ScalarType::Half, __VA_ARGS__) POPCORN_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) POPCORN_SWITCH(TYPE, NAME, POPCORN_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) POPCORN_SWITCH(TYPE, NAME, POPCORN_INTEGRAL(__VA_ARGS__) POPCORN_FLOATING(__VA_ARGS__))
