// The look-alike's side of the binding.
#pragma once

#include "popcorn_torch.h"

#include "popcorn_binding.h"

namespace popcorn {

inline at::Tensor tensor_from_pointer(void* implementation) {
  // at::Tensor is one pointer to its implementation, so a handle can point at ours for the length of the copy
  AtenTensorHandle borrowed = reinterpret_cast<AtenTensorHandle>(&implementation);
  AtenTensorHandle made = nullptr;
  check(aoti_torch_new_tensor_handle(borrowed, &made), "taking a tensor");
  return at::Tensor(made);
}

inline void* pointer_of(at::Tensor& tensor) { return tensor.handle(); }

inline void* released(at::Tensor& tensor) { return tensor.release(); }

inline PyObject* list_of(const std::vector<int64_t>& numbers) { return Convert<std::vector<int64_t>>::to(numbers); }

// Ask torch for the same tensor through Python, for its own error (OutOfMemoryError and its text).
inline void raise_allocation(const AllocationFailed& failed) {
  static const char* const names[] = {"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"};
  const int code = static_cast<int>(failed.dtype);
  const char* name = code < 8 ? names[code]
                     : failed.dtype == c10::ScalarType::Bool ? "bool"
                     : failed.dtype == c10::ScalarType::BFloat16 ? "bfloat16"
                     : failed.dtype == c10::ScalarType::Float8_e5m2 ? "float8_e5m2" : "float8_e4m3fn";
  PyObject* call = torch_attribute("torch", "empty_strided");
  PyObject* type = torch_attribute("torch", name);
  PyObject* arguments = Py_BuildValue("(NN)", list_of(failed.sizes), list_of(failed.strides));
  PyObject* settings = Py_BuildValue("{s:N,s:s}", "dtype", type, "device", failed.device.str().c_str());
  PyObject* made = arguments && settings ? PyObject_Call(call, arguments, settings) : nullptr;
  Py_XDECREF(arguments);
  Py_XDECREF(settings);
  Py_DECREF(call);
  if (made) {
    Py_DECREF(made);
    PyErr_SetString(PyExc_RuntimeError, failed.what());
  }
}

inline bool raise_known() {
  try {
    throw;
  } catch (const AllocationFailed& failed) {
    try {
      raise_allocation(failed);
    } catch (const PythonError&) {
    }
    return true;
  } catch (const c10::IndexError& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
    return true;
  } catch (const NotImplemented& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace popcorn
